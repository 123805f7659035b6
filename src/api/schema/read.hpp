// Schemas from the JSON of a CustomResourceDefinition.
#pragma once

#include <map>
#include <string>
#include <string_view>

#include "api/schema/node.hpp"
#include "api/tree.hpp"
#include "base/error.hpp"

namespace cotrain::api::schema {

// Reads an openAPIV3Schema. Whatever check() could not judge is refused: unknown keywords, rules and patterns.
[[nodiscard]] base::result<node> read_schema(ref document);

// Types by name. In a library, {"$ref": "Name"} stands for the type of that name.
class library {
   public:
    [[nodiscard]] static base::result<library> read(ref definitions);
    // Null if there is none.
    [[nodiscard]] shared_node find(std::string_view name) const;

   private:
    std::map<std::string, shared_node, std::less<>> types_;
};

}  // namespace cotrain::api::schema
