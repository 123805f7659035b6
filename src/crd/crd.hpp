// The three CustomResourceDefinitions of trainer.kubeflow.org, and the schemas by which their objects are judged.
#pragma once

#include <span>
#include <string_view>

#include "api/names.hpp"
#include "crd/node.hpp"
#include "doc/arena.hpp"
#include "doc/tree.hpp"

namespace cotrain::crd {

// A column of `kubectl get`.
struct column {
    std::string_view name;
    std::string_view type;
    std::string_view json_path;
    bool wide = false;  // only with -o wide
    std::string_view description;
};

struct definition {
    api::resource_type resource;
    std::string_view list_kind;
    std::string_view singular;
    std::string_view short_name;
    std::span<const std::string_view> categories;
    std::string_view description;
    std::span<const column> columns;
    bool has_status = false;
};

[[nodiscard]] std::span<const definition> definitions();

// The schema of a kind's objects, made when first asked for; null if the kind is none of the three.
[[nodiscard]] const node* schema_of(std::string_view kind);

// The definition as it is applied to a cluster.
[[nodiscard]] doc::ref make_crd(doc::arena& memory, const definition& of);

// A document as it is judged when it is created: without status, which has its own subresource.
[[nodiscard]] doc::ref without_status(doc::arena& memory, doc::ref document);

}  // namespace cotrain::crd
