// A JobSet as YAML with the layer of each field behind it, and the same for programs.
#pragma once

#include <map>
#include <string>
#include <string_view>

#include "doc/tree.hpp"

namespace cotrain::app {

using layer_map = std::map<std::string, std::string, std::less<>>;

// "parallelism: 4   # spec.trainer.numNodes", a line for each field.
[[nodiscard]] std::string to_explained_yaml(doc::ref document, const layer_map& layers);
// [{"path": …, "value": …, "layer": …}], a line for each field.
[[nodiscard]] std::string to_explained_json(doc::ref document, const layer_map& layers);

}  // namespace cotrain::app
