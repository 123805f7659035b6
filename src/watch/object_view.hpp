// Watch lines and list pages as views: the members that are used, the rest skipped unread.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/error.hpp"
#include "watch/json_cursor.hpp"

namespace cotrain::watch {

// The owner with `controller: true`.
struct owner_view {
    json_text api_version{};
    json_text kind{};
    json_text name{};
    json_text uid{};
};

// Views into the line or page: everything here dangles once that is gone. Raw members are JSON as written, empty if
// absent, to be decoded by whoever needs them. managedFields and unknown members are skipped.
struct object_view {
    json_text api_version{};
    json_text kind{};
    json_text name{};
    json_text ns{};
    json_text uid{};
    json_text resource_version{};
    json_text creation_time{};
    json_text deletion_time{};
    std::int64_t generation = 0;
    owner_view controller{};         // its uid is empty if nothing controls the object
    std::string_view labels{};       // raw, as all below
    std::string_view annotations{};  //
    std::string_view finalizers{};   //
    std::string_view spec{};
    std::string_view status{};    // of a Status: the string "Failure"
    std::string_view overhead{};  // of a RuntimeClass
    std::string_view code{};      // of a Status, as the two below
    std::string_view reason{};
    std::string_view message{};
    std::string_view whole{};

    [[nodiscard]] bool deleting() const { return !deletion_time.empty(); }
};

enum class event_type : std::uint8_t { added, modified, deleted, bookmark, error, unknown };

struct event_view {
    event_type type = event_type::unknown;
    object_view object{};
};

// Reads the parts that are different in each kind, while the object is walked through. A part that is JSON but not
// what the kind should have (an older CRD let it in) does not spoil the object: failure() says what is wrong with it.
class part_reader {
   public:
    virtual void clear() = 0;  // before each object
    virtual void read_spec(json_cursor& in) = 0;
    virtual void read_status(json_cursor& in) = 0;
    // The first mistake of this object: "spec: expected an integer at byte 123".
    [[nodiscard]] const std::optional<base::error>& failure() const { return failure_; }
    void set_failure(std::optional<base::error> e) { failure_ = std::move(e); }

   protected:
    ~part_reader() = default;

   private:
    std::optional<base::error> failure_;
};

// One line of a watch: {"type": …, "object": …}. A decode error names what was expected and at which byte.
[[nodiscard]] base::result<> decode_event(std::string_view line, event_view& out, part_reader* parts = nullptr);
[[nodiscard]] base::result<> decode_object(std::string_view object, object_view& out, part_reader* parts = nullptr);

// What an ERROR event or a body of kind Status says.
struct status_view {
    int code = 0;
    std::string reason{};
    std::string message{};
};
[[nodiscard]] status_view decode_status(const object_view& object);

// Whether this bookmark ends the initial events of a WatchList (annotation k8s.io/initial-events-end).
[[nodiscard]] bool ends_initial_events(const object_view& bookmark);

// The string member of a raw object (labels, annotations); nothing if it is not there.
[[nodiscard]] std::optional<json_text> find_text(std::string_view raw_object, std::string_view name);
// Whether a raw list has this string (finalizers).
[[nodiscard]] bool has_text(std::string_view raw_list, std::string_view text);

// Goes through one page of a list; the page has to stay in place meanwhile.
class page_reader {
   public:
    explicit page_reader(std::string_view page);

    // The next item; false at the end or after a mistake, see finish().
    [[nodiscard]] bool next(object_view& out, part_reader* parts = nullptr);

    struct trailer {
        std::string resource_version{};
        std::string continue_token{};  // empty: this was the last page
        std::int64_t remaining = 0;
    };
    // After the last item. An error also if this is no list, or one without a resourceVersion.
    [[nodiscard]] base::result<trailer> finish();

   private:
    void read_meta();

    json_cursor cursor_;
    bool open_ = false;  // inside the page's object
    bool in_items_ = false;
    bool saw_items_ = false;
    std::size_t count_ = 0;
    trailer trailer_;
};

}  // namespace cotrain::watch
