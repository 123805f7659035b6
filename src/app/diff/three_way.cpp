#include "app/diff/three_way.hpp"

#include <string_view>

#include "app/explain/fields.hpp"
#include "doc/edit.hpp"

namespace cotrain::app {

namespace {

using doc::editor;
using doc::ref;

class merger {
   public:
    merger(doc::arena& memory, list_merge lists) : memory_(memory), lists_(lists) {}

    // NOLINTNEXTLINE(bugprone-easily-swappable-parameters)
    ref merge(ref last, ref wanted, ref live) {
        if (wanted.is_object() && live.is_object()) return objects(last, wanted, live);
        if (lists_ == list_merge::by_key && wanted.is_array() && live.is_array() && !wanted.empty()) {
            const std::string_view key = item_key(wanted);
            if (!key.empty() && wanted.at(0).is_object() && item_key(live) == key)
                return lists(last, wanted, live, key);
        }
        return wanted;
    }

   private:
    ref objects(ref last, ref wanted, ref live) {
        editor out = editor::object(memory_);
        for (const doc::member& m : live.members())
            if (!wanted.contains(m.key()) && !last.contains(m.key())) out.set(m.key(), m.value);
        for (const doc::member& m : wanted.members()) {
            if (m.value.is_null()) continue;  // kubectl takes it for "remove"
            out.set(m.key(), merge(last.get(m.key()), m.value, live.get(m.key())));
        }
        return doc::freeze(memory_, out);
    }

    // In the order that is there; what is new stands behind it.
    ref lists(ref last, ref wanted, ref live, std::string_view key) {
        editor out = editor::array(memory_);
        for (const ref item : live.items()) {
            const std::string_view name = item.get(key).text();
            const ref planned = by_key(wanted, key, name);
            const ref before = by_key(last, key, name);
            if (planned) {
                out.append(merge(before, planned, item));
            } else if (!before) {
                out.append(item);
            }
        }
        for (const ref item : wanted.items())
            if (!by_key(live, key, item.get(key).text())) out.append(item);
        return doc::freeze(memory_, out);
    }

    static ref by_key(ref list, std::string_view key, std::string_view name) {
        for (const ref item : list.items())
            if (item.get(key).text() == name) return item;
        return {};
    }

    doc::arena& memory_;
    list_merge lists_;
};

}  // namespace

ref three_way(doc::arena& memory, ref last, ref wanted, ref live, list_merge lists) {
    return merger(memory, lists).merge(last, wanted, live);
}

}  // namespace cotrain::app
