#include "sim/cluster.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <stdexcept>
#include <utility>

#include "doc/edit.hpp"
#include "doc/json.hpp"
#include "sim/patch.hpp"
#include "sim/shaping.hpp"

namespace cotrain::sim {

namespace {

constexpr int generated_characters = 5;

ownership_rules rules_of(const target& at) {
    ownership_rules out{at.of->merged.get(), at.of->api_version(), at.status ? "status" : at.scale ? "scale" : "", {}};
    const auto ignore = [&](const char* name) { out.ignored.insert(path{path_element::field(name)}); };
    if (at.status) {
        ignore("metadata");
        ignore("spec");
    } else if (at.of->has_status) {
        ignore("status");
    }
    return out;
}

doc::ref without_managers(doc::arena& memory, doc::ref object) {
    if (!object.get({"metadata", "managedFields"})) return object;
    doc::editor out = doc::editor::of(memory, object);
    out.child("metadata").remove("managedFields");
    return out;
}

void set_managers(doc::arena& memory, doc::editor& object, const owners& all) {
    doc::editor metadata = object.ensure_object("metadata");
    metadata.remove("managedFields");
    if (const doc::ref list = write_owners(memory, all)) metadata.set("managedFields", list);
}

// Whether a client asks for a clean slate: an empty list, or one empty entry.
bool resets_managers(doc::ref managed) {
    return managed.is_array() && (managed.empty() || (managed.size() == 1 && managed.at(0).empty()));
}

// The managedFields without their times, and the object without its managedFields.
struct split_object {
    doc::ref managed;
    doc::ref rest;
};

split_object split(doc::arena& scratch, doc::ref object) {
    // A copy: editing what is still being made would change it.
    const doc::ref copy = deep_copy(scratch, object);
    doc::editor managed = doc::editor::array(scratch);
    for (const doc::ref entry : copy.get({"metadata", "managedFields"}).items()) {
        doc::editor one = doc::editor::of(scratch, entry);
        one.remove("time");
        managed.append(one);
    }
    return {managed, without_managers(scratch, copy)};
}

bool same_but_times(doc::ref a, doc::ref b) {
    doc::arena scratch;
    const split_object left = split(scratch, a);
    const split_object right = split(scratch, b);
    return equal(left.rest, right.rest) && equal(left.managed, right.managed);
}

// Which part of an object its generation counts changes of.
bool same_wish(const kind& of, doc::ref a, doc::ref b) {
    if (!of.custom) return equal(a.get("spec"), b.get("spec"));
    const auto all_in = [](doc::ref from, doc::ref to) {
        return std::ranges::all_of(from.members(), [&](const doc::member& m) {
            return m.key() == "metadata" || equal(m.value, to.get(m.key()));
        });
    };
    return all_in(a, b) && all_in(b, a);
}

// Nothing but its apiVersion tells a version from another: webhooks that convert are not asked.
doc::ref with_version(doc::arena& memory, doc::ref object, const kind& of) {
    doc::editor out = doc::editor::of(memory, object);
    out.set("apiVersion", of.api_version());
    // What is changed later on must not change in here.
    return doc::freeze(memory, out);
}

// Before an object is there. In Go's types spec and status are, always; in custom resources they are not.
doc::ref empty_one(doc::arena& memory, const kind& of, doc::ref object) {
    doc::editor out = doc::editor::object(memory);
    for (const char* each : {"spec", "status"}) {
        if (!of.custom && object.get(each).is_object()) out.ensure_object(each);
    }
    return out;
}

std::vector<std::string> warnings_of(const std::vector<std::string>& unknown) {
    std::vector<std::string> out;
    for (const std::string& path : unknown) out.push_back(fmt::format("unknown field \"{}\"", path));
    return out;
}

constexpr std::string_view other_namespace =
    "the namespace of the provided object does not match the namespace sent on the request";

failure other_name(std::string_view sent, std::string_view asked) {
    return bad_request(fmt::format("the name of the object ({}) does not match the name on the URL ({})", sent, asked));
}

// Of a patch it is the patch that is invalid: `kubectl edit` opens the editor again.
failure strict_patch_failure(const std::vector<std::string>& unknown) {
    const std::string why =
        fmt::format("Invalid value: strict decoding error: {}", fmt::join(warnings_of(unknown), ", "));
    return {422, "Invalid", " \"\" is invalid: patch: " + why, {}, {}, {}, {{"FieldValueInvalid", why, "patch"}}};
}

failure strict_failure(const kind& of, const std::vector<std::string>& unknown) {
    return bad_request(fmt::format("{} in version \"{}\" cannot be handled as a {}: strict decoding error: {}", of.name,
                                   of.version, of.name, fmt::join(warnings_of(unknown), ", ")));
}

constexpr std::string_view first_line = R"({"snapshot":"cotrain","version":1})";

std::unexpected<base::error> wrong(std::size_t line, std::string_view what) {
    return base::fail(base::errc::invalid, fmt::format("snapshot, line {}: {}", line, what));
}

base::result<> restore(cluster& into, std::size_t line, std::string_view text, bool definitions) {
    doc::arena memory;
    const auto read = doc::parse_json(memory, text);
    if (!read || !read->is_object()) return wrong(line, read ? "no object" : read.error().message);
    const std::string_view name = read->get("kind").as_string();
    if ((name == "CustomResourceDefinition") != definitions) return {};
    const kind* const of = into.types().find(read->get("apiVersion").as_string(), name);
    if (of == nullptr)
        return wrong(line, fmt::format("{} of {} is not known", name, read->get("apiVersion").as_string()));
    if (definitions) {
        if (auto made = into.types().define(*read); !made) return wrong(line, made.error().message);
    }
    doc::editor object = doc::editor::of(memory, *read);
    object.ensure_object("metadata").set("resourceVersion", fmt::format("{}", into.objects().next_version()));
    record state = make_record(object);
    if (state.name.empty() || state.uid.empty()) return wrong(line, "an object without a name or uid");
    if (into.objects().find(*of, state.ns, state.name)) return wrong(line, "the same object a second time");
    into.objects().put(*of, std::move(state));
    return {};
}

}  // namespace

// A change to an object that exists. `wanted` is not decoded yet.
struct cluster::change_request {
    const target& at;
    record_ptr live_record;
    doc::ref live;
    doc::ref wanted;
    std::optional<owners> owned{};  // apply has settled them
    bool patched = false;
};

doc::ref open(doc::arena& memory, const record& state) {
    auto read = doc::parse_json(memory, state.json);
    if (!read) throw std::logic_error("an object in the store is no JSON: " + read.error().message);
    return *read;
}

doc::ref open_as(doc::arena& memory, const kind& of, const record& state) {
    const doc::ref stored = open(memory, state);
    if (of.of_other) return of.of_other->show(memory, stored);
    return of.home == nullptr ? stored : with_version(memory, stored, of);
}

outcome<record_ptr> cluster::get(const target& at) const {
    record_ptr found = store_.find(at.of->kept(), at.ns, at.name);
    if (!found) return std::unexpected(not_found(*at.of, at.name));
    return found;
}

outcome<> cluster::check_namespace(const target& at) const {
    if (!at.of->namespaced) return {};
    const kind* const spaces = kinds_.find("", "v1", "namespaces");
    const record_ptr space = store_.find(*spaces, "", at.ns);
    if (!space) return std::unexpected(not_found(*spaces, at.ns));
    if (space->deleting)
        return std::unexpected(forbidden(
            *at.of, at.name,
            fmt::format("unable to create new content in namespace {} because it is being terminated", at.ns)));
    return {};
}

std::string cluster::make_uid() {
    const std::uint64_t a = random_.next();
    const std::uint64_t b = random_.next();
    return fmt::format("{:08x}-{:04x}-4{:03x}-{:04x}-{:012x}", a >> 32U, (a >> 16U) & 0xffffU, a & 0xfffU,
                       0x8000U | ((b >> 48U) & 0x3fffU), b & 0xffffffffffffU);
}

// A request that is played again makes the same object.
std::string cluster::uid_of(admission_talk* talk) {
    if (talk == nullptr) return make_uid();
    if (talk->uid.empty()) talk->uid = make_uid();
    return talk->uid;
}

outcome<written> cluster::create(const target& at, doc::ref document, const write_options& with,
                                 base::seconds_time now) {
    doc::arena memory;
    return settle_new(memory, at, document, std::nullopt, with, now);
}

outcome<std::string> cluster::name_of_new(const target& at, doc::ref metadata, admission_talk* talk) {
    const std::string_view ns = metadata.get("namespace").as_string();
    if (at.of->namespaced ? !ns.empty() && ns != at.ns : !ns.empty())
        return std::unexpected(bad_request(std::string{other_namespace}));
    if (!metadata.get("resourceVersion").as_string().empty())
        return std::unexpected(bad_request("resourceVersion should not be set on objects to be created"));
    std::string name{metadata.get("name").as_string(at.name)};
    if (!at.name.empty() && name != at.name) return std::unexpected(other_name(name, at.name));
    if (name.empty() && talk != nullptr) name = talk->generated_name;
    if (name.empty() && !metadata.get("generateName").as_string().empty()) {
        static constexpr std::string_view letters = "bcdfghjklmnpqrstvwxz2456789";
        name = metadata.get("generateName").as_string();
        for (int i = 0; i < generated_characters; ++i) name += letters[random_.next() % letters.size()];
        if (talk != nullptr) talk->generated_name = name;
    }
    if (!name.empty()) return name;
    return std::unexpected(
        invalid(*at.of, "", {{"metadata.name", crd::fault::required, "name or generateName is required"}}));
}

outcome<written> cluster::settle_new(doc::arena& memory, const target& at, doc::ref document,
                                     std::optional<owners> owned, const write_options& with, base::seconds_time now) {
    const kind& of = *at.of;
    auto read = decode(memory, of, document);
    if (!read) return std::unexpected(std::move(read.error()));
    if (with.strict && !read->unknown_fields.empty()) return std::unexpected(strict_failure(of, read->unknown_fields));
    doc::editor object = read->object;
    doc::editor metadata = object.child("metadata");
    target made = at;
    if (auto name = name_of_new(at, metadata, with.talk)) {
        made.name = std::move(*name);
    } else {
        return std::unexpected(std::move(name.error()));
    }
    if (auto fine = check_namespace(made); !fine) return std::unexpected(std::move(fine.error()));

    if (!owned) {
        owned.emplace();
        const bool reset = resets_managers(document.get({"metadata", "managedFields"}));
        if (!reset) *owned = read_owners(metadata.get("managedFields"));
        metadata.remove("managedFields");
        own_update(rules_of(at), empty_one(memory, of, object), object, *owned, with.manager, base::format_time(now));
    }
    for (const char* unset : {"selfLink", "deletionTimestamp", "deletionGracePeriodSeconds", "generation"})
        metadata.remove(unset);
    metadata.set("name", made.name).set("uid", uid_of(with.talk)).set("creationTimestamp", base::format_time(now));
    if (of.namespaced) metadata.set("namespace", at.ns);
    if (of.has_generation) metadata.set("generation", 1);
    if (of.custom && of.has_status) object.remove("status");
    if (of.fill != nullptr) of.fill(memory, object);
    std::vector<std::string> warnings = warnings_of(read->unknown_fields);
    if (auto fine = mutate_by_hooks(made, object, {}, with, warnings); !fine)
        return std::unexpected(std::move(fine.error()));
    if (auto faults = judge(of, object); !faults.empty()) return std::unexpected(invalid(of, made.name, faults));
    if (auto fine = validate_by_hooks(made, object, {}, with, warnings); !fine)
        return std::unexpected(std::move(fine.error()));
    if (store_.find(of.kept(), at.ns, made.name)) return std::unexpected(already_exists(of, made.name));
    if (auto fine = define(of, object, with); !fine) return std::unexpected(std::move(fine.error()));
    set_managers(memory, object, *owned);
    return keep(made, object, nullptr, with, std::move(warnings));
}

outcome<written> cluster::keep(const target& at, doc::editor object, const record* live, const write_options& with,
                               std::vector<std::string> warnings) {
    doc::editor metadata = object.child("metadata");
    const bool ends = live != nullptr && live->deleting && metadata.get("finalizers").empty();
    if (!with.dry_run) metadata.set("resourceVersion", fmt::format("{}", store_.next_version()));
    record state = make_record(at.of->home != nullptr ? with_version(object.memory(), object, at.of->kept()) : object);
    if (state.json.size() > object_bytes_max) {
        return std::unexpected(failure{413, "RequestEntityTooLarge",
                                       fmt::format("Request entity too large: limit is {}", object_bytes_max)});
    }
    written out{state.json, live == nullptr, std::move(warnings)};
    if (at.of->home != nullptr) out.json = doc::to_json(with_version(object.memory(), object, *at.of));
    if (with.dry_run) return out;
    if (ends) {
        erase(at.of->kept(), state);
        return out;
    }
    if (!state.owners.empty()) to_judge_.push_back({&at.of->kept(), {state.ns, state.name}});
    if (live != nullptr && live->deleting) to_collect_.push_back(state.uid);
    store_.put(at.of->kept(), std::move(state));
    return out;
}

outcome<written> cluster::update(const target& at, doc::ref document, const write_options& with,
                                 base::seconds_time now) {
    doc::arena memory;
    auto found = get(at);
    if (!found && at.of->made_by_update && !at.status) return settle_new(memory, at, document, std::nullopt, with, now);
    if (!found) return std::unexpected(std::move(found.error()));
    return settle_change(memory, {at, *found, open_as(memory, *at.of, **found), document}, with, now);
}

outcome<written> cluster::patch(const target& at, patch_type how, doc::ref patch, const write_options& with,
                                base::seconds_time now) {
    if (how == patch_type::apply) return apply(at, patch, with, now);
    if (how == patch_type::strategic && at.of->custom)
        return std::unexpected(
            failure{415, "UnsupportedMediaType",
                    "the body of the request was in an unknown format - accepted media types include: "
                    "application/json-patch+json, application/merge-patch+json, application/apply-patch+yaml"});
    doc::arena memory;
    auto found = get(at);
    if (!found) return std::unexpected(std::move(found.error()));
    const doc::ref live = open_as(memory, *at.of, **found);
    patched result = how == patch_type::merge  ? patched{merge_patch(memory, live, patch)}
                     : how == patch_type::json ? json_patch(memory, live, patch)
                                               : strategic_patch(memory, at.of->merged.get(), live, patch);
    if (!result) {
        if (result.error().malformed) return std::unexpected(bad_request(result.error().message));
        if (result.error().too_large)
            return std::unexpected(failure{413, "RequestEntityTooLarge", std::move(result.error().message)});
        return std::unexpected(
            failure{422, "Invalid",
                    "the server rejected our request due to an error in our request: " + result.error().message});
    }
    return settle_change(memory, {.at = at, .live_record = *found, .live = live, .wanted = *result, .patched = true},
                         with, now);
}

outcome<written> cluster::apply(const target& at, doc::ref config, const write_options& with, base::seconds_time now) {
    const kind& of = *at.of;
    doc::arena memory;
    if (with.manager.empty())
        return std::unexpected(failure{
            422,
            "Invalid",
            "PatchOptions.meta.k8s.io \"\" is invalid: fieldManager: Required value: is required for apply patch",
            {},
            "meta.k8s.io",
            "PatchOptions",
            {{"FieldValueRequired", "Required value: is required for apply patch", "fieldManager"}}});
    if (config.get("apiVersion").as_string() != of.api_version() || config.get("kind").as_string() != of.name)
        return std::unexpected(bad_request(fmt::format(
            "invalid object type: {}, Kind={}", config.get("apiVersion").as_string(), config.get("kind").as_string())));
    if (!config.get({"metadata", "managedFields"}).is_unset())
        return std::unexpected(bad_request("metadata.managedFields must be nil"));
    const record_ptr found = store_.find(of.kept(), at.ns, at.name);
    if (!found && at.status) return std::unexpected(not_found(of, at.name));
    doc::editor nothing = doc::editor::object(memory);
    nothing.set("apiVersion", of.api_version()).set("kind", of.name);
    const doc::ref stored = found ? open_as(memory, of, *found) : nothing.view();
    const doc::ref live = without_managers(memory, stored);
    owners all = read_owners(stored.get({"metadata", "managedFields"}));
    auto done = own_apply(memory, rules_of(at), live, config, all, with.manager, with.force, base::format_time(now));
    if (!done) {
        if (const auto* found_conflicts = std::get_if<conflicts>(&done.error()))
            return std::unexpected(apply_conflict(*found_conflicts));
        return std::unexpected(
            failure{500, "",
                    fmt::format("failed to create typed patch object ({}/{}; {}, Kind={}): {}", at.ns, at.name,
                                of.api_version(), of.name, std::get<apply_fault>(done.error()).message)});
    }
    if (auto nulls = stray_nulls(of, done->object); !nulls.empty()) return std::unexpected(invalid(of, at.name, nulls));
    if (!found) {
        const std::string_view uid = config.get({"metadata", "uid"}).as_string();
        if (!uid.empty()) {
            return std::unexpected(in_conflict(
                of, at.name,
                fmt::format("uid mismatch: the provided object specified uid {}, and no existing object was found",
                            uid)));
        }
        // A version keeps an apply from changing what is there, not from making what is not.
        doc::editor made = doc::editor::of(memory, done->object);
        made.ensure_object("metadata").remove("resourceVersion");
        return settle_new(memory, at, made, std::move(all), with, now);
    }
    return settle_change(memory, {at, found, stored, done->object, std::move(all)}, with, now);
}

// Whether the object that is sent is the one that it is sent to.
outcome<> cluster::check_identity(const change_request& what, doc::ref metadata) {
    const target& at = what.at;
    if (const std::string_view name = metadata.get("name").as_string(); name != at.name)
        return std::unexpected(other_name(name, at.name));
    if (const std::string_view ns = metadata.get("namespace").as_string(); !ns.empty() && ns != at.ns)
        return std::unexpected(bad_request(std::string{other_namespace}));
    const std::string_view version = metadata.get("resourceVersion").as_string();
    if (version.empty() && at.of->custom) {
        failure why = invalid(
            *at.of, at.name, {{"metadata.resourceVersion", crd::fault::invalid, "0: must be specified for an update"}});
        why.message.replace(0, at.of->name.size(), at.of->plural);
        why.what = at.of->plural;
        return std::unexpected(std::move(why));
    }
    if (!version.empty() && version != what.live.get({"metadata", "resourceVersion"}).as_string())
        return std::unexpected(stale(*at.of, at.name));
    const std::string_view uid = metadata.get("uid").as_string();
    if (uid.empty() || uid == what.live_record->uid) return {};
    if (what.patched || what.owned) {
        return std::unexpected(invalid(
            *at.of, at.name, {{"metadata.uid", crd::fault::invalid, fmt::format("\"{}\": field is immutable", uid)}}));
    }
    return std::unexpected(
        in_conflict(*at.of, at.name,
                    fmt::format("Precondition failed: UID in precondition: {}, UID in object meta: {}", uid,
                                what.live_record->uid)));
}

// Who owns what after a write that is no apply. A client may send managedFields to change them.
owners cluster::owners_after(doc::arena& memory, const change_request& what, doc::editor& object,
                             const write_options& with, base::seconds_time now) {
    if (what.owned) return *what.owned;
    const target& at = what.at;
    const doc::ref sent = what.wanted.get({"metadata", "managedFields"});
    if (!at.status && resets_managers(sent)) return {};
    owners out;
    if (!at.status) out = read_owners(sent);
    if (out.empty()) out = read_owners(what.live.get({"metadata", "managedFields"}));
    object.child("metadata").remove("managedFields");
    // An object that nobody owns anything of stays so until the first apply.
    if (!out.empty())
        own_update(rules_of(at), without_managers(memory, what.live), object, out, with.manager,
                   base::format_time(now));
    return out;
}

outcome<written> cluster::settle_change(doc::arena& memory, const change_request& what, const write_options& with,
                                        base::seconds_time now) {
    const target& at = what.at;
    const kind& of = *at.of;
    auto read = decode(memory, of, what.wanted);
    if (!read) return std::unexpected(std::move(read.error()));
    if (with.strict && !read->unknown_fields.empty())
        return std::unexpected(what.patched ? strict_patch_failure(read->unknown_fields)
                                            : strict_failure(of, read->unknown_fields));
    doc::editor object = read->object;
    if (auto fine = check_identity(what, object.get("metadata")); !fine)
        return std::unexpected(std::move(fine.error()));
    const owners all = owners_after(memory, what, object, with, now);
    if (at.status) {
        const doc::ref status = object.get("status");
        object = doc::editor::of(memory, without_managers(memory, what.live));
        object.remove("status");
        if (status) object.set("status", status);
    } else if (of.has_status) {
        object.remove("status");
        if (const doc::ref status = what.live.get("status")) object.set("status", status);
    }
    doc::editor metadata = object.ensure_object("metadata");
    const doc::ref old_metadata = what.live.get("metadata");
    for (const char* kept : {"uid", "creationTimestamp", "deletionTimestamp", "deletionGracePeriodSeconds",
                             "generation", "namespace", "resourceVersion"}) {
        metadata.remove(kept);
        if (const doc::ref old = old_metadata.get(kept)) metadata.set(kept, old);
    }
    if (!at.status && of.has_generation && !same_wish(of, what.live, object))
        metadata.set("generation", old_metadata.get("generation").as_int(0) + 1);
    metadata.remove("managedFields");
    std::vector<std::string> warnings = warnings_of(read->unknown_fields);
    if (auto fine = mutate_by_hooks(at, object, what.live, with, warnings); !fine)
        return std::unexpected(std::move(fine.error()));
    set_managers(memory, object, all);
    if (auto faults = judge(of, object, what.live); !faults.empty())
        return std::unexpected(invalid(of, at.name, faults));
    if (auto fine = validate_by_hooks(at, object, what.live, with, warnings); !fine)
        return std::unexpected(std::move(fine.error()));
    if (auto fine = at.status ? outcome<>{} : define(of, object, with); !fine)
        return std::unexpected(std::move(fine.error()));
    const bool ends = what.live_record->deleting && metadata.get("finalizers").empty();
    if (!ends && same_but_times(what.live, object)) {
        return written{of.home != nullptr ? doc::to_json(what.live) : what.live_record->json, false,
                       std::move(warnings)};
    }
    return keep(at, object, what.live_record.get(), with, std::move(warnings));
}

std::string write_snapshot(const cluster& from) {
    std::string out{first_line};
    out += '\n';
    for (const auto& each : from.types().all()) {
        if (each->of_other || each->home != nullptr) continue;
        for (const record_ptr& object : from.objects().list(*each, {.version = from.objects().version()}))
            out.append(object->json).append("\n");
    }
    return out;
}

base::result<> read_snapshot(cluster& into, std::string_view text) {
    if (!text.starts_with(first_line)) return wrong(1, "this is no snapshot of a playground");
    if (text.size() > snapshot_bytes_max) return wrong(1, "larger than a snapshot may be");
    for (const bool definitions : {true, false}) {
        std::string_view rest = text;
        for (std::size_t line = 1; !rest.empty(); ++line) {
            const std::size_t end = std::min(rest.find('\n'), rest.size());
            const std::string_view one = rest.substr(0, end);
            rest.remove_prefix(std::min(end + 1, rest.size()));
            if (line == 1 || one.empty()) continue;
            if (auto done = restore(into, line, one, definitions); !done) return done;
        }
    }
    return {};
}

}  // namespace cotrain::sim
