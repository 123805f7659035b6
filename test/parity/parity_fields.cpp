// managedFields (fieldsV1) beside the object that they speak of.
#include "parity/parity_fields.hpp"

#include <string_view>

#include "doc/json.hpp"

namespace cotrain::parity {

namespace {

using doc::ref;

bool is_hollow(ref value) { return value.is_container() && value.empty(); }

// The item of a keyed list that "k:{…}" names.
ref item_of(doc::arena& memory, ref list, std::string_view key) {
    const auto wanted = doc::parse_json_copy(memory, key);
    if (!wanted) return {};
    for (const ref item : list.items()) {
        bool same = true;
        for (const auto& m : wanted->members()) same = same && equal(m.value, item.get(m.key()));
        if (same) return item;
    }
    return {};
}

void list_fields(doc::arena& memory, const std::string& path, ref fields, ref value, std::set<std::string>& out) {
    if (fields.empty()) {
        if (!is_hollow(value)) out.insert(path);
        return;
    }
    for (const auto& m : fields.members()) {
        const std::string_view key = m.key();
        if (key == ".") {
            if (!is_hollow(value)) out.insert(path);
        } else if (key.starts_with("f:")) {
            const std::string name(key.substr(2));
            list_fields(memory, path.empty() ? name : path + "." + name, m.value, value.get(name), out);
        } else {
            const std::string name(key.substr(2));
            const ref item = key.starts_with("k:") ? item_of(memory, value, name) : ref{};
            list_fields(memory, path + "[" + name + "]", m.value, item, out);
        }
    }
}

}  // namespace

std::set<std::string> owned_by_trainer(ref object) {
    std::set<std::string> out;
    doc::arena memory;
    for (const ref entry : object.get({"metadata", "managedFields"}).items()) {
        if (entry.get("manager").as_string() == "trainer") {
            list_fields(memory, "", entry.get("fieldsV1"), object, out);
        }
    }
    return out;
}

}  // namespace cotrain::parity
