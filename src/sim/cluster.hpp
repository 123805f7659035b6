// The API server's rules as a state machine: requests to objects in, objects or refusals out. No socket, no clock.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.hpp"
#include "base/random.hpp"
#include "base/time.hpp"
#include "doc/edit.hpp"
#include "sim/admission.hpp"
#include "sim/failure.hpp"
#include "sim/kind.hpp"
#include "sim/ownership.hpp"
#include "sim/store.hpp"

namespace cotrain::sim {

// As etcd's default limit on requests.
inline constexpr std::size_t object_bytes_max = 1536UL * 1024;

// Which object, and through which door.
struct target {
    const kind* of = nullptr;
    std::string ns{};
    std::string name{};
    bool status = false;  // the status sub-resource
    bool scale = false;   // for managedFields: nothing else tells it from the object itself
};

struct write_options {
    std::string manager{};
    bool force = false;  // of apply
    bool dry_run = false;
    bool strict = false;  // unknown fields are errors
    // Webhooks are asked if it is there; an outcome can then be pending, see is_pending().
    admission_talk* talk = nullptr;
};

enum class patch_type : std::uint8_t { merge, json, strategic, apply };

struct written {
    std::string json;
    bool created = false;
    std::vector<std::string> warnings{};
};

enum class propagation : std::uint8_t { background, foreground, orphan };

struct removal {
    propagation dependents = propagation::background;
    std::string uid{};  // preconditions
    std::string resource_version{};
    bool dry_run = false;
    admission_talk* talk = nullptr;
};

class cluster {
   public:
    explicit cluster(std::uint64_t seed) : random_(seed) {}

    [[nodiscard]] kinds& types() { return kinds_; }
    [[nodiscard]] const kinds& types() const { return kinds_; }
    [[nodiscard]] token_table& tokens() { return tokens_; }
    [[nodiscard]] const token_table& tokens() const { return tokens_; }
    [[nodiscard]] store& objects() { return store_; }
    [[nodiscard]] const store& objects() const { return store_; }

    [[nodiscard]] outcome<record_ptr> get(const target& at) const;
    [[nodiscard]] outcome<written> create(const target& at, doc::ref document, const write_options& with,
                                          base::seconds_time now);
    [[nodiscard]] outcome<written> update(const target& at, doc::ref document, const write_options& with,
                                          base::seconds_time now);
    [[nodiscard]] outcome<written> patch(const target& at, patch_type how, doc::ref patch, const write_options& with,
                                         base::seconds_time now);
    // The object while something holds it, else a Status.
    [[nodiscard]] outcome<written> remove(const target& at, const removal& how, base::seconds_time now);

    // The finalizers in a namespace's spec; with none left it is gone, if it was deleted.
    [[nodiscard]] outcome<written> finalize(const target& at, doc::ref document, const write_options& with);

    // One step of the garbage collector and of namespaces' ends; whether there may be more to do.
    bool collect(base::seconds_time now);
    // Where nobody collects.
    void leave_garbage();

   private:
    struct change_request;
    [[nodiscard]] outcome<> check_namespace(const target& at) const;
    [[nodiscard]] std::string make_uid();
    [[nodiscard]] std::string uid_of(admission_talk* talk);
    [[nodiscard]] outcome<> mutate_by_hooks(const target& at, doc::editor& object, doc::ref live,
                                            const write_options& with, std::vector<std::string>& warnings);
    [[nodiscard]] outcome<> validate_by_hooks(const target& at, doc::ref object, doc::ref live,
                                              const write_options& with, std::vector<std::string>& warnings);
    [[nodiscard]] outcome<written> apply(const target& at, doc::ref config, const write_options& with,
                                         base::seconds_time now);
    [[nodiscard]] outcome<written> settle_new(doc::arena& memory, const target& at, doc::ref document,
                                              std::optional<owners> owned, const write_options& with,
                                              base::seconds_time now);
    [[nodiscard]] outcome<written> settle_change(doc::arena& memory, const change_request& what,
                                                 const write_options& with, base::seconds_time now);
    [[nodiscard]] outcome<std::string> name_of_new(const target& at, doc::ref metadata, admission_talk* talk);
    [[nodiscard]] static outcome<> check_identity(const change_request& what, doc::ref metadata);
    [[nodiscard]] static owners owners_after(doc::arena& memory, const change_request& what, doc::editor& object,
                                             const write_options& with, base::seconds_time now);
    [[nodiscard]] outcome<> ask_about_end(const target& at, const record& state, const removal& how,
                                          std::vector<std::string>& warnings);
    // What a CustomResourceDefinition defines is served from then on. Objects that are stored stay as they are until
    // they are written again.
    [[nodiscard]] outcome<> define(const kind& of, doc::ref object, const write_options& with);
    // Stores a settled object; `live` is what it was, null if it is new.
    [[nodiscard]] outcome<written> keep(const target& at, doc::editor object, const record* live,
                                        const write_options& with, std::vector<std::string> warnings);
    // Marks it as deleted, or removes it if nothing holds it.
    void remove_held(const object_id& what, propagation dependents, base::seconds_time now);
    void erase(const kind& of, const record& state);
    // Its objects go with a definition. Their finalizers do not hold them: who would take those away finds no object.
    void undefine(const record& definition);
    void rewrite(const kind& of, const record& state, doc::ref object);
    void collect_one(const std::string& uid, base::seconds_time now);
    bool collect_namespace(const record& space, base::seconds_time now);

    kinds kinds_;
    token_table tokens_;
    store store_;
    base::random_source random_;
    std::deque<std::string> to_collect_;  // uids of objects whose dependents, or own state, ask for a look
    std::deque<object_id> to_judge_;      // objects whose owners may not exist
    std::vector<std::string> ending_namespaces_;
};

// The object of a record…
[[nodiscard]] doc::ref open(doc::arena& memory, const record& state);
// …and in the form of that kind.
[[nodiscard]] doc::ref open_as(doc::arena& memory, const kind& of, const record& state);

// A cluster's objects as text and back: a line of JSON each, as they are stored.

inline constexpr std::size_t snapshot_bytes_max = 4UL * 1024 * 1024 * 1024;

[[nodiscard]] std::string write_snapshot(const cluster& from);
// Into a cluster without objects. Uids and managedFields stay, versions are new. Errors name the line.
[[nodiscard]] base::result<> read_snapshot(cluster& into, std::string_view text);

}  // namespace cotrain::sim
