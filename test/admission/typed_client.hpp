// What a client with the Go types of Kubeflow Trainer v2.3.0 makes of a TrainJob: it drops what these types do not
// have.
#pragma once

#include <fstream>
#include <sstream>
#include <stdexcept>
#include <string>

#include "doc/edit.hpp"
#include "doc/json.hpp"

namespace cotrain::test {

// Names of members as v2.3.0's definition of TrainJob has them: objects by name, lists with the item's, "*" for maps;
// null where everything is kept.
inline doc::ref fields_of_the_reference(doc::arena& memory) {
    std::ifstream in(COTRAIN_REFERENCE_FIELDS);
    std::stringstream text;
    text << in.rdbuf();
    const auto parsed = doc::parse_json_copy(memory, text.str());
    if (!parsed) throw std::runtime_error(parsed.error().message);
    return *parsed;
}

inline doc::ref as_typed(doc::arena& memory, doc::ref value, doc::ref known) {
    if (known.is_array() && value.is_array()) {
        doc::editor out = doc::editor::array(memory);
        for (const doc::ref item : value.items()) out.append(as_typed(memory, item, known.at(0)));
        return doc::freeze(memory, out);
    }
    if (!known.is_object() || !value.is_object()) return value;
    doc::editor out = doc::editor::object(memory);
    for (const auto& m : value.members()) {
        const doc::ref below = known.contains("*") ? known.get("*") : known.get(m.key());
        if (below) out.set(m.key(), as_typed(memory, m.value, below));
    }
    return doc::freeze(memory, out);
}

}  // namespace cotrain::test
