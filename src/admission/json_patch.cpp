// Walks to the place of a change; pointers escape ~ and /.
#include "admission/json_patch.hpp"

#include <charconv>

#include "doc/json.hpp"

namespace cotrain::admission {
namespace {

std::string pointer(std::span<const std::string_view> path) {
    std::string out;
    for (const std::string_view step : path) {
        out += '/';
        for (const char c : step) {
            if (c == '~') {
                out += "~0";
            } else if (c == '/') {
                out += "~1";
            } else {
                out += c;
            }
        }
    }
    return out;
}

std::size_t place_of(std::string_view step) {
    std::size_t index = 0;
    std::from_chars(step.data(), step.data() + step.size(), index);
    return index;
}

}  // namespace

json_patch::json_patch(doc::arena& memory, doc::ref document)
    : document_(doc::editor::of(memory, document)), operations_(doc::editor::array(memory)) {}

doc::editor json_patch::above(steps path) {
    doc::editor at = document_;
    for (const std::string_view step : path.first(path.size() - 1)) {
        at = at.type() == doc::kind::array ? at.child(place_of(step)) : at.child(step);
    }
    return at;
}

doc::editor json_patch::note(std::string_view operation, steps path) {
    doc::editor out = operations_.append_object();
    out.set("op", operation).set("path", pointer(path));
    return out;
}

void json_patch::set(steps path, doc::ref value) {
    above(path).set(path.back(), value);
    note("add", path).set("value", value);  // replaces what is there
}

void json_patch::remove(std::initializer_list<std::string_view> path) {
    above(path).remove(*(path.end() - 1));
    note("remove", path);
}

std::string json_patch::text() const { return operations_.size() == 0 ? std::string{} : doc::to_json(operations_); }

}  // namespace cotrain::admission
