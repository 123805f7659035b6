// What must be known of the API's types to default, normalise and merge documents: one table, three walks.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

namespace cotrain::runtime {

struct type_info;

enum class form : std::uint8_t {
    plain,        // a scalar, kept whatever it is
    brief,        // a scalar that Go leaves out when it is zero, false or ""
    amount,       // a quantity
    sure_amount,  // a quantity that Go always writes: "0" where it is absent
    object,
    list,
    map,      // of scalars
    amounts,  // a map of quantities
};

// How a list merges with a patch's list.
enum class list_rule : std::uint8_t {
    replace,
    by_key,  // items are objects that have a key: merged item by item
    values,  // items are scalars: united
};

struct field_info {
    std::string_view name;
    form what = form::plain;
    const type_info* of = nullptr;  // of an object or of the items of a list; null: not looked into
    std::string_view merge_key{};
    list_rule rule = list_rule::replace;
    std::string_view preset{};  // the CRD's default as JSON; empty = none
};

// Members of which only one may be set. A patch that sets another one replaces it (contract, difference 12).
enum class choice : std::uint8_t {
    none,
    any_member,      // all members
    any_but_name,    // all members except "name"
    value_or_source  // "value" and "valueFrom"
};

struct type_info {
    std::string_view name;
    std::span<const field_info> fields;
    choice one_of = choice::none;

    // Null for members that we do not know: they are kept as they are.
    [[nodiscard]] const field_info* find(std::string_view field) const;
};

namespace schema {

extern const type_info object_meta;
extern const type_info label_selector;
extern const type_info env_var;
extern const type_info resource_requirements;
extern const type_info volume;
extern const type_info persistent_volume_claim;
extern const type_info container;
extern const type_info pod_spec;
extern const type_info pod_template;
extern const type_info job_spec;
extern const type_info job_template;
extern const type_info job_set_spec;        // of a runtime: with its defaults
extern const type_info job_set_spec_patch;  // of a TrainJob's patch: without
extern const type_info train_job;
extern const type_info training_runtime;  // both kinds

}  // namespace schema
}  // namespace cotrain::runtime
