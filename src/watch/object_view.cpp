// Finds the used members of objects, events and list pages.
#include "watch/object_view.hpp"

#include <charconv>
#include <utility>

namespace cotrain::watch {

namespace {

void read_owner(json_cursor& in, object_view& out) {
    owner_view owner;
    bool controls = false;
    std::string_view name;
    if (!in.enter_object()) return;
    while (in.next_member(name)) {
        if (name == "apiVersion")
            owner.api_version = in.text();
        else if (name == "kind")
            owner.kind = in.text();
        else if (name == "name")
            owner.name = in.text();
        else if (name == "uid")
            owner.uid = in.text();
        else if (name == "controller")
            controls = in.boolean();
        else
            in.skip();
    }
    if (controls) out.controller = owner;
}

void read_owners(json_cursor& in, object_view& out) {
    out.controller = {};
    if (!in.enter_array()) return;
    while (in.next_item()) read_owner(in, out);
}

// Lengths tell most names apart before any byte is compared.
void read_meta_member(json_cursor& in, std::string_view name, object_view& out) {
    switch (name.size()) {
        case 3:
            if (name == "uid") return void(out.uid = in.text());
            break;
        case 4:
            if (name == "name") return void(out.name = in.text());
            break;
        case 6:
            if (name == "labels") return void(out.labels = in.raw());
            break;
        case 9:
            if (name == "namespace") return void(out.ns = in.text());
            break;
        case 10:
            if (name == "generation") return void(out.generation = in.integer());
            if (name == "finalizers") return void(out.finalizers = in.raw());
            break;
        case 11:
            if (name == "annotations") return void(out.annotations = in.raw());
            break;
        case 15:
            if (name == "resourceVersion") return void(out.resource_version = in.text());
            if (name == "ownerReferences") return read_owners(in, out);
            break;
        case 17:
            if (name == "creationTimestamp") return void(out.creation_time = in.text());
            if (name == "deletionTimestamp") return void(out.deletion_time = in.text());
            break;
        default: break;
    }
    in.skip();
}

void read_metadata(json_cursor& in, object_view& out) {
    std::string_view name;
    if (!in.enter_object()) return;
    while (in.next_member(name)) read_meta_member(in, name, out);
}

using read_part = void (part_reader::*)(json_cursor&);

std::string_view read_with(json_cursor& in, part_reader* parts, read_part part, std::string_view what) {
    if (parts == nullptr) return in.raw();
    in.peek();
    const std::size_t from = in.offset();
    (parts->*part)(in);
    if (in.ok()) return in.between(from, in.offset());
    if (!parts->failure()) parts->set_failure(in.error().during(what));
    in.return_to(from);
    return in.raw();
}

void read_object_member(json_cursor& in, std::string_view name, object_view& out, part_reader* parts) {
    switch (name.size()) {
        case 4:
            if (name == "kind") return void(out.kind = in.text());
            if (name == "spec") return void(out.spec = read_with(in, parts, &part_reader::read_spec, name));
            if (name == "code") return void(out.code = in.raw());
            break;
        case 6:
            if (name == "status") return void(out.status = read_with(in, parts, &part_reader::read_status, name));
            if (name == "reason") return void(out.reason = in.raw());
            break;
        case 7:
            if (name == "message") return void(out.message = in.raw());
            break;
        case 8:
            if (name == "metadata") return read_metadata(in, out);
            if (name == "overhead") return void(out.overhead = in.raw());
            break;
        case 10:
            if (name == "apiVersion") return void(out.api_version = in.text());
            break;
        default: break;
    }
    in.skip();
}

// `out` is fresh.
void read_object(json_cursor& in, object_view& out, part_reader* parts) {
    std::string_view name;
    if (parts != nullptr) {
        parts->clear();
        parts->set_failure(std::nullopt);
    }
    if (!in.enter_object()) return;
    const std::size_t from = in.offset() - 1;
    while (in.next_member(name)) read_object_member(in, name, out, parts);
    if (in.ok()) out.whole = in.between(from, in.offset());
}

event_type type_of(const json_text& text) {
    if (text.is("ADDED")) return event_type::added;
    if (text.is("MODIFIED")) return event_type::modified;
    if (text.is("DELETED")) return event_type::deleted;
    if (text.is("BOOKMARK")) return event_type::bookmark;
    if (text.is("ERROR")) return event_type::error;
    return event_type::unknown;
}

std::string text_of(std::string_view raw) {
    if (!raw.starts_with('"')) return {};
    std::string scratch;
    return std::string(json_cursor(raw).text().value(scratch));
}

}  // namespace

base::result<> decode_event(std::string_view line, event_view& out, part_reader* parts) {
    json_cursor in(line);
    out = {};
    bool typed = false;
    std::string_view name;
    if (in.enter_object()) {
        while (in.next_member(name)) {
            if (name == "type") {
                out.type = type_of(in.text());
                typed = true;
            } else if (name == "object") {
                if (!out.object.whole.empty()) out.object = {};  // of two, the last counts
                read_object(in, out.object, parts);
            } else {
                in.skip();
            }
        }
    }
    in.finish();
    if (!in.ok()) return base::fail(in.error().during("watch event"));
    if (!typed || out.object.whole.empty())
        return base::fail(base::errc::decode, "watch event: it has no type or no object");
    return {};
}

base::result<> decode_object(std::string_view object, object_view& out, part_reader* parts) {
    json_cursor in(object);
    out = {};
    read_object(in, out, parts);
    in.finish();
    if (!in.ok()) return base::fail(in.error());
    if (out.whole.empty()) return base::fail(base::errc::decode, "expected an object at byte 0");
    return {};
}

status_view decode_status(const object_view& object) {
    status_view out;
    std::from_chars(object.code.data(), object.code.data() + object.code.size(), out.code);
    out.reason = text_of(object.reason);
    out.message = text_of(object.message);
    return out;
}

bool ends_initial_events(const object_view& bookmark) {
    const auto value = find_text(bookmark.annotations, "k8s.io/initial-events-end");
    return value && value->is("true");
}

std::optional<json_text> find_text(std::string_view raw_object, std::string_view wanted) {
    if (!raw_object.starts_with('{')) return std::nullopt;
    json_cursor in(raw_object);
    std::string_view name;
    in.enter_object();
    while (in.next_member(name)) {
        if (name != wanted) {
            in.skip();
            continue;
        }
        const json_text text = in.text();
        return in.ok() ? std::optional(text) : std::nullopt;
    }
    return std::nullopt;
}

bool has_text(std::string_view raw_list, std::string_view text) {
    if (!raw_list.starts_with('[')) return false;
    json_cursor in(raw_list);
    in.enter_array();
    while (in.next_item())
        if (in.text().is(text) && in.ok()) return true;
    return false;
}

page_reader::page_reader(std::string_view page) : cursor_(page), open_(cursor_.enter_object()) {}

void page_reader::read_meta() {
    std::string_view name;
    std::string scratch;
    if (!cursor_.enter_object()) return;
    while (cursor_.next_member(name)) {
        if (name == "resourceVersion")
            trailer_.resource_version = cursor_.text().value(scratch);
        else if (name == "continue")
            trailer_.continue_token = cursor_.text().value(scratch);
        else if (name == "remainingItemCount")
            trailer_.remaining = cursor_.integer();
        else
            cursor_.skip();
    }
}

bool page_reader::next(object_view& out, part_reader* parts) {
    std::string_view name;
    while (open_) {
        if (in_items_) {
            if (cursor_.next_item()) {
                ++count_;
                out = {};
                read_object(cursor_, out, parts);
                if (cursor_.ok() && out.whole.empty()) cursor_.fail("an object as item");
                return cursor_.ok();
            }
            in_items_ = false;
        }
        if (!cursor_.next_member(name)) {
            open_ = false;
        } else if (name == "items") {
            saw_items_ = true;
            in_items_ = cursor_.enter_array();
        } else if (name == "metadata") {
            read_meta();
        } else {
            cursor_.skip();
        }
    }
    return false;
}

base::result<page_reader::trailer> page_reader::finish() {
    object_view rest;
    while (next(rest)) {
    }
    cursor_.finish();
    if (!cursor_.ok()) return base::fail(std::move(cursor_.error()).during("list, item " + std::to_string(count_)));
    if (!saw_items_ || trailer_.resource_version.empty())
        return base::fail(base::errc::decode, "list: it has no items or no resourceVersion");
    return trailer_;
}

}  // namespace cotrain::watch
