// What others decide about writes: webhooks, and definitions of new kinds.
#include <utility>

#include "sim/cluster.hpp"
#include "sim/shaping.hpp"

namespace cotrain::sim {
namespace {

admission_subject subject(const target& at, api::ref live, const write_options& with) {
    return {.of = at.of,
            .ns = at.ns,
            .name = at.name,
            .operation = live ? "UPDATE" : "CREATE",
            .status = at.status,
            .dry_run = with.dry_run,
            .old = live};
}

}  // namespace

outcome<> cluster::mutate_by_hooks(const target& at, api::editor& object, api::ref live, const write_options& with,
                                   std::vector<std::string>& warnings) {
    if (with.talk == nullptr) return {};
    if (with.talk->uid.empty()) with.talk->uid = make_uid();
    api::arena& memory = object.memory();
    const api::ref before = object.view();
    auto made = mutate(memory, kinds_, store_, subject(at, live, with), before, *with.talk, warnings);
    if (!made) return std::unexpected(std::move(made.error()));
    if (made->same(before)) return {};
    auto read = decode(memory, *at.of, *made);
    if (!read) return std::unexpected(std::move(read.error()));
    object = read->object;
    return {};
}

outcome<> cluster::validate_by_hooks(const target& at, api::ref object, api::ref live, const write_options& with,
                                     std::vector<std::string>& warnings) {
    if (with.talk == nullptr) return {};
    return validate(kinds_, store_, subject(at, live, with), object, *with.talk, warnings);
}

outcome<> cluster::ask_about_end(const target& at, const record& state, const removal& how,
                                 std::vector<std::string>& warnings) {
    if (how.talk == nullptr) return {};
    if (how.talk->uid.empty()) how.talk->uid = make_uid();
    api::arena memory;
    const api::ref live = open(memory, state);
    const admission_subject about{
        .of = at.of, .ns = at.ns, .name = at.name, .operation = "DELETE", .dry_run = how.dry_run, .old = live};
    return validate(kinds_, store_, about, live, *how.talk, warnings);
}

outcome<> cluster::define(const kind& of, api::ref object, const write_options& with) {
    if (of.name != "CustomResourceDefinition" || with.dry_run) return {};
    if (auto made = kinds_.define(object); !made) {
        return std::unexpected(invalid(of, object.get({"metadata", "name"}).as_string(),
                                       {{"spec", api::schema::fault::invalid, std::move(made.error().message)}}));
    }
    return {};
}

}  // namespace cotrain::sim
