// Normalises, freezes and renders a runtime once.
#include "runtime/compiled_runtime.hpp"

#include <string>
#include <utility>

#include "api/edit.hpp"
#include "api/names.hpp"
#include "api/yaml.hpp"
#include "runtime/bounds.hpp"
#include "runtime/normalise.hpp"
#include "runtime/object.hpp"
#include "runtime/schema.hpp"

namespace cotrain::runtime {

namespace {

// Above what a ConfigMap takes, and far below what indentation can make of a deep object.
constexpr std::size_t snapshot_bytes_max = 2 * config_bytes_max;

}  // namespace

base::result<std::shared_ptr<const compiled_runtime>> compiled_runtime::compile(api::ref document) {
    api::arena scratch(api::plan_bytes_max);
    const auto normal = normalise(scratch, document, schema::training_runtime, {});
    if (!normal) return base::fail(normal.error());
    api::editor kept = api::editor::of(scratch, *normal);
    if (!kept) return base::fail(base::errc::invalid, "a runtime must be an object");
    kept.remove("status");
    // Bookkeeping of the API server, and larger than all the rest.
    if (api::editor metadata = kept.child("metadata")) metadata.remove("managedFields");

    std::shared_ptr<compiled_runtime> made(new compiled_runtime);
    const api::ref own = api::deep_copy(made->memory_, kept);
    auto decoded = api::decode_training_runtime(api::freeze(made->memory_, own));
    if (!decoded) return base::fail(std::move(decoded.error()));
    made->runtime_ = std::move(*decoded);

    std::string text;
    if (!api::append_yaml(text, own, snapshot_bytes_max)) {
        return base::fail(base::errc::too_large,
                          "a runtime of more than " + std::to_string(snapshot_bytes_max) + " bytes of YAML");
    }
    api::editor data = api::editor::object(made->memory_);
    data.set(api::names::snapshot_key, text);
    made->snapshot_data_ = api::freeze(made->memory_, data);
    for (const api::arena* memory : {&scratch, &made->memory_}) {
        if (auto good = check_memory(*memory); !good) return base::fail(std::move(good.error()));
    }
    return made;
}

}  // namespace cotrain::runtime
