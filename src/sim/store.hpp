// The objects, their versions, and what happened to them lately. No rules: those are cluster.hpp's.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <expected>
#include <functional>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "doc/tree.hpp"
#include "sim/kind.hpp"

namespace cotrain::sim {

// Changes kept for watches and for lists that are read page by page; older ones are compacted.
inline constexpr std::size_t history_changes_max = 100'000;
inline constexpr std::size_t history_bytes_max = 64UL * 1024 * 1024;

// A state of an object; never changes.
struct record {
    std::string json;
    std::string ns;
    std::string name;
    std::string uid;
    std::vector<std::pair<std::string, std::string>> labels;
    std::vector<std::pair<std::string, bool>> owners;  // their uid, and whether they wait for us (blockOwnerDeletion)
    std::uint64_t version = 0;
    bool deleting = false;
};
using record_ptr = std::shared_ptr<const record>;

struct change {
    std::uint64_t version = 0;
    const kind* of = nullptr;
    record_ptr before;  // null: it is new
    record_ptr after;   // null: it is gone…
    record_ptr last{};  // …and this was its last state, with the version of its end
};

// Sorted as lists are: by namespace, then by name.
using object_key = std::pair<std::string, std::string>;

struct object_id {
    const kind* of = nullptr;
    object_key key;
    auto operator<=>(const object_id&) const = default;
};

struct list_wish {
    std::string_view ns{};  // empty: all
    std::uint64_t version = 0;
    std::optional<object_key> after{};
    std::size_t items_max = std::numeric_limits<std::size_t>::max();
    std::function<bool(const record&)> takes{};  // absent: all
};

class store {
   public:
    [[nodiscard]] record_ptr find(const kind& of, std::string_view ns, std::string_view name) const;
    [[nodiscard]] std::uint64_t version() const { return version_; }
    // The version that the next write will get.
    [[nodiscard]] std::uint64_t next_version() const { return version_ + 1; }
    // The oldest version that a watch can start from.
    [[nodiscard]] std::uint64_t compacted() const { return compacted_; }

    // Both take next_version().
    void put(const kind& of, record state);
    void erase(const kind& of, std::string_view ns, std::string_view name, record last);
    // Forgets history up to that version.
    void compact(std::uint64_t version);

    // As the objects were at wish.version, which must not be compacted.
    [[nodiscard]] std::vector<record_ptr> list(const kind& of, const list_wish& wish) const;
    [[nodiscard]] std::size_t count(const kind& of) const;
    // The change after a version, of any kind; null if there is none.
    [[nodiscard]] const change* next(std::uint64_t version) const;

    // By owner's uid.
    [[nodiscard]] std::vector<object_id> dependents(const std::string& uid) const;
    [[nodiscard]] bool exists(const std::string& uid) const { return uids_.contains(uid); }
    [[nodiscard]] std::optional<object_id> find_uid(const std::string& uid) const;
    [[nodiscard]] std::size_t size() const { return uids_.size(); }

   private:
    void note(change what);
    void link(const kind& of, const record& state);
    void unlink(const kind& of, const record& state);

    std::map<const kind*, std::map<object_key, record_ptr>> objects_;
    std::unordered_map<std::string, object_id> uids_;
    std::map<std::string, std::map<object_id, int>> dependents_;
    std::deque<change> history_;
    std::size_t history_bytes_ = 0;
    std::uint64_t version_ = 1;
    std::uint64_t compacted_ = 1;
};

// Label and field selectors.

inline constexpr std::size_t selector_requirements_max = 256;

struct requirement {
    enum class relation : std::uint8_t { exists, absent, among, not_among };
    std::string name;
    relation how = relation::exists;
    std::vector<std::string> values{};
};

// All must hold.
struct selector {
    std::vector<requirement> labels;
    std::vector<requirement> fields;  // with one value each

    [[nodiscard]] bool empty() const { return labels.empty() && fields.empty(); }
    [[nodiscard]] bool takes(const record& object) const;
};

// "a=b,c!=d,e in (f,g),h notin (i),j,!k"; "metadata.name=x". Errors are the API server's.
// Fields are metadata.name, metadata.namespace and those that the kind names.
[[nodiscard]] std::expected<selector, std::string> read_selector(const kind& of, std::string_view labels,
                                                                 std::string_view fields);
// A LabelSelector as objects have it. Nothing selects everything.
[[nodiscard]] std::vector<requirement> read_label_selector(doc::ref document);
using label_list = std::vector<std::pair<std::string, std::string>>;
[[nodiscard]] bool all_hold(const std::vector<requirement>& wanted, const label_list& labels);

}  // namespace cotrain::sim
