// Holds the published types as text and reads them when first asked.
#include "api/schema/kubernetes.hpp"

#include <stdexcept>
#include <string_view>

#include "api/arena.hpp"
#include "api/json.hpp"

namespace cotrain::api::schema {
namespace {

constexpr std::string_view published =
#include "api/schema/kubernetes.json.inc"
    ;

library read_published() {
    arena memory;
    const auto document = parse_json(memory, published);
    if (!document) throw std::logic_error("kubernetes.json.inc: " + document.error().message);
    auto types = library::read(*document);
    if (!types) throw std::logic_error("kubernetes.json.inc: " + types.error().message);
    return std::move(*types);
}

}  // namespace

const library& kubernetes_types() {
    static const library types = read_published();
    return types;
}

}  // namespace cotrain::api::schema
