#include "watch/decode.hpp"

#include <algorithm>
#include <array>
#include <glaze/json/read.hpp>
#include <iterator>
#include <utility>

#include "api/names.hpp"
#include "api/runtime.hpp"
#include "api/workload.hpp"
#include "base/json_text.hpp"

// What JSON objects look like, as Glaze has to see them: views that are filled while an object is walked through.
namespace cotrain::watch::wire {

constexpr base::strict_json<glz::opts> rules{};
constexpr auto rules_with_null = [] {
    auto all = rules;
    all.skip_null_members_on_read = false;
    return all;
}();
constexpr glz::opts to_the_end{.null_terminated = false};

struct context : glz::context {
    const char* begin = nullptr;
};

base::error mistake(glz::error_code code, std::size_t at) {
    std::string name = glz::format_error(code);
    std::ranges::replace(name, '_', ' ');
    return base::make_error(base::errc::decode, "unexpected JSON at byte " + std::to_string(at) + ": " + name);
}

// Skipped to its end, however deep it is.
struct unread {};

// As it is written, and read into *value on the way unless there is none.
template <class Value>
struct part {
    std::string_view name;
    json_raw* raw;
    Value* value = nullptr;
    std::optional<base::error>* failure = nullptr;
};

template <class Parts>
struct object {
    object_view* view;
    Parts* parts;
    bool there = false;

    // Before each object: of an event that has two the last counts.
    object& fresh() {
        *view = {};
        if constexpr (!std::is_void_v<Parts>) parts->clear();
        there = true;
        return *this;
    }
    auto spec() {
        if constexpr (std::is_void_v<Parts>)
            return part<void>{"spec", &view->spec};
        else
            return part<decltype(parts->spec)>{"spec", &view->spec, &parts->spec, &parts->failure};
    }
    auto status() {
        if constexpr (std::is_void_v<Parts>)
            return part<void>{"status", &view->status};
        else
            return part<decltype(parts->status)>{"status", &view->status, &parts->status, &parts->failure};
    }
};

template <class Parts>
struct event {
    wire::object<Parts> object;
    json_text type{};
};

template <class Parts>
struct items {
    wire::object<Parts> object;
    const std::function<void(const object_view&)>* take;
    std::size_t count = 0;
    bool there = false;
};

template <class Parts>
struct page {
    wire::items<Parts> items;
    page_trailer metadata{};
};

struct owner : owner_view {
    bool controls = false;
};

// Lists of a status, as far as they are kept.
struct conditions {
    status_lists* of;
};
struct jobs {
    status_lists* of;
};

// Runtime → JobSet template → Job template → pod template.
struct pod_spec {
    json_text runtimeClassName{};
};
template <class Spec>
struct spec_only {
    Spec spec{};
};
template <class Spec>
struct templated {
    spec_only<Spec> inner{};
};
struct job_set_spec {
    std::vector<templated<templated<pod_spec>>> replicatedJobs{};
};

// --- bounds of a status --------------------------------------------------------------------------------------------

// Conditions that decide what is done. Others are of their authors' own kinds.
bool decides(const condition_view& c) {
    namespace names = api::names;
    static constexpr std::array types{names::suspended, names::complete,       names::job_set_completed,
                                      names::failed,    names::pending,        names::running,
                                      names::ready,     names::resources_ready};
    return std::ranges::any_of(types, [&c](std::string_view type) { return c.type.is(type); });
}

// Of too many conditions the first are kept, and all that decide something.
void put(status_lists& out, const condition_view& c) {
    auto& all = out.conditions;
    if (c.type.empty()) return;
    if (all.size() == conditions_max) {
        out.left_out = true;
        const auto spare = std::ranges::find_if_not(all.rbegin(), all.rend(), decides);
        if (spare == all.rend() || !decides(c)) return;
        all.erase(std::next(spare).base());
    }
    all.push_back(c);
}

void put(status_lists& out, const job_counts_view& job) {
    if (out.jobs.size() == jobs_max || job.name.raw.size() > job_name_bytes_max)
        out.left_out = true;
    else
        out.jobs.push_back(job);
}

// Conditions that decide something have their room first; then one after the other, as the list has them. What has no
// room for its type and reason is left out, and a message is cut to the room that is there: a second look at what was
// cut changes nothing.
void share_room(status_lists& out) {
    std::size_t left = condition_texts_bytes_max;
    for (const bool deciding : {true, false}) {
        for (condition_view& c : out.conditions) {
            if (decides(c) != deciding) continue;
            const std::size_t head = c.type.raw.size() + c.reason.raw.size();
            const bool fits = head <= left;
            if (fits) left -= head;
            c.message_kept = std::min({c.message.raw.size(), condition_message_bytes_max, left});
            out.left_out = out.left_out || !fits || c.message_kept < c.message.raw.size();
            if (fits) left -= c.message_kept;
            if (!fits) c.type = {};
        }
    }
    std::erase_if(out.conditions, [](const condition_view& c) { return c.type.empty(); });
}

// The rest of the object is as good as any: it is used, and the log says that something is missing.
void bound(status_lists& out, std::optional<base::error>& failure) {
    share_room(out);
    if (out.left_out && !failure)
        failure = base::make_error(base::errc::too_large,
                                   "status: too many or too long conditions or jobs, of which a part is left out");
}

}  // namespace cotrain::watch::wire

// --- names of members ----------------------------------------------------------------------------------------------

namespace glz {

namespace watch = cotrain::watch;

template <>
struct meta<watch::wire::owner> {
    using T = watch::wire::owner;
    static constexpr auto value = object("apiVersion", &T::api_version, "kind", &T::kind, "name", &T::name, "uid",
                                         &T::uid, "controller", &T::controls);
};

template <>
struct meta<watch::known_annotations> {
    using T = watch::known_annotations;
    static constexpr auto value = object(
        cotrain::api::names::num_proc_annotation, &T::num_proc, cotrain::api::names::elastic_annotation, &T::elastic,
        cotrain::api::names::topology_annotation, &T::topology, cotrain::api::names::kueue_elastic_annotation,
        &T::kueue_elastic, "k8s.io/initial-events-end", &T::initial_events_end);
};

template <>
struct meta<watch::meta_view> {
    using T = watch::meta_view;
    static constexpr auto skipped = [](T&) { return watch::wire::unread{}; };
    static constexpr auto value =
        object("name", &T::name, "namespace", &T::ns, "uid", &T::uid, "resourceVersion", &T::resource_version,
               "creationTimestamp", &T::creation_time, "deletionTimestamp", &T::deletion_time, "generation",
               &T::generation, "ownerReferences", &T::controller, "labels", &T::labels, "annotations", &T::annotations,
               "finalizers", &T::finalizers, "managedFields", skipped);
};

template <class Parts>
struct meta<watch::wire::object<Parts>> {
    using T = watch::wire::object<Parts>;
    static constexpr auto value = object(
        "apiVersion", [](T& o) -> auto& { return o.view->api_version; },                    //
        "kind", [](T& o) -> auto& { return o.view->kind; },                                 //
        "metadata", [](T& o) -> auto& { return static_cast<watch::meta_view&>(*o.view); },  //
        "spec", [](T& o) { return o.spec(); }, "status", [](T& o) { return o.status(); },   //
        "overhead", [](T& o) -> auto& { return o.view->overhead; },                         //
        "code", [](T& o) -> auto& { return o.view->code; },                                 //
        "reason", [](T& o) -> auto& { return o.view->reason; },                             //
        "message", [](T& o) -> auto& { return o.view->message; });
};

template <class Parts>
struct meta<watch::wire::event<Parts>> {
    using T = watch::wire::event<Parts>;
    static constexpr auto value = object("type", &T::type, "object", [](T& e) -> auto& { return e.object.fresh(); });
};

template <>
struct meta<watch::page_trailer> {
    using T = watch::page_trailer;
    static constexpr auto value = object("resourceVersion", &T::resource_version, "continue", &T::continue_token,
                                         "remainingItemCount", &T::remaining);
};

template <>
struct meta<watch::runtime_ref_view> {
    using T = watch::runtime_ref_view;
    static constexpr auto value = object("name", &T::name, "kind", &T::kind);
};

template <>
struct meta<watch::train_job_spec_view> {
    using T = watch::train_job_spec_view;
    static constexpr auto value =
        object("runtimeRef", &T::runtime, "suspend", &T::suspend, "managedBy", &T::managed_by, "activeDeadlineSeconds",
               &T::active_deadline_seconds, "ttlSecondsAfterFinished", &T::ttl_seconds);
};

template <>
struct meta<watch::train_job_status_view> {
    using T = watch::train_job_status_view;
    static constexpr auto value = object(
        "conditions", [](T& s) { return watch::wire::conditions{&s}; }, "jobsStatus",
        [](T& s) { return watch::wire::jobs{&s}; }, cotrain::api::names::snapshot_hash_member, &T::snapshot_hash,
        "state", &T::state, "message", &T::message, "startTime", &T::start_time, "restarts", &T::restarts, "nodes",
        &T::nodes, "failures", &T::failures);
};

template <>
struct meta<watch::job_set_status_view> {
    using T = watch::job_set_status_view;
    static constexpr auto value = object(
        "conditions", [](T& s) { return watch::wire::conditions{&s}; }, "replicatedJobsStatus",
        [](T& s) { return watch::wire::jobs{&s}; }, "terminalState", &T::terminal_state, "restarts", &T::restarts);
};

template <>
struct meta<watch::condition_view> {
    using T = watch::condition_view;
    static constexpr auto value = object("type", &T::type, "status", &T::status, "reason", &T::reason, "message",
                                         &T::message, "lastTransitionTime", &T::last_transition_time);
};

template <class Spec>
struct meta<watch::wire::templated<Spec>> {
    static constexpr auto value = object("template", &watch::wire::templated<Spec>::inner);
};

// --- values of our own ---------------------------------------------------------------------------------------------

// Where a list begins: `each` reads one item.
template <auto Opts>
void read_list(auto&& ctx, auto&& it, auto end, auto each) {
    if (match_invalid_end<'[', Opts>(ctx, it, end) || enter_depth(ctx) || skip_ws<Opts>(ctx, it, end)) return;
    while (*it != ']') {
        each();
        if (bool(ctx.error) || skip_ws<Opts>(ctx, it, end)) return;
        if (*it == ']') break;
        if (match_invalid_end<',', Opts>(ctx, it, end) || skip_ws<Opts>(ctx, it, end)) return;
        if (*it == ']') ctx.error = error_code::syntax_error;  // a comma with nothing behind it
        if (bool(ctx.error)) return;
    }
    ++it;
    --ctx.depth;
    if (it == end) ctx.error = error_code::end_reached;
}

template <>
struct from<JSON, watch::json_text> {
    template <auto Opts>
    static void op(watch::json_text& value, auto&& ctx, auto&& it, auto end) {
        if constexpr (!check_ws_handled(Opts))
            if (skip_ws<Opts>(ctx, it, end)) return;
        if (*it != '"') return void(ctx.error = error_code::expected_quote);
        const char* const start = it + 1;
        skip_string<Opts>(ctx, it, end);
        if (bool(ctx.error) && ctx.error != error_code::end_reached) return;
        value.raw = {start, static_cast<std::size_t>(it - 1 - start)};
        value.escapes = value.raw.contains('\\');
    }
};

template <>
struct from<JSON, watch::json_raw> {
    template <auto Opts>
    static void op(watch::json_raw& value, auto&& ctx, auto&& it, auto end) {
        const char* const start = it;
        skip_value<JSON>::op<Opts>(ctx, it, end);
        value = std::string_view(start, static_cast<std::size_t>(it - start));
    }
};

template <>
struct from<JSON, watch::wire::unread> {
    template <auto Opts>
    static void op(auto&&, auto&& ctx, auto&& it, auto end) {
        skip_value<JSON>::op<watch::wire::to_the_end>(ctx, it, end);
    }
};

// A mistake in the part is reported, and costs no more than the part: what was written is skipped over.
template <class Value>
struct from<JSON, watch::wire::part<Value>> {
    template <auto Opts>
    static void op(const watch::wire::part<Value>& to, auto&& ctx, auto&& it, auto end) {
        const char* const start = it;
        const auto depth = ctx.depth;
        const auto begin_again = [&] {
            if (to.failure != nullptr && !*to.failure)
                *to.failure = watch::wire::mistake(ctx.error, static_cast<std::size_t>(it - ctx.begin)).during(to.name);
            ctx.error = error_code::none;
            ctx.depth = depth;
            it = start;
        };
        if constexpr (!std::is_void_v<Value>) {
            from<JSON, Value>::template op<Opts>(*to.value, ctx, it, end);
            const bool good = ctx.error == error_code::none;
            if (good) *to.raw = std::string_view(start, it);
            if (!good) begin_again();
            if constexpr (std::is_base_of_v<watch::status_lists, Value>) watch::wire::bound(*to.value, *to.failure);
            if (good) return;
        }
        skip_value<JSON>::op<Opts>(ctx, it, end);
        if (ctx.error == error_code::exceeded_max_recursive_depth) {
            begin_again();
            skip_value<JSON>::op<watch::wire::to_the_end>(ctx, it, end);
        }
        *to.raw = std::string_view(start, it);
    }
};

template <auto Opts, class Item>
void read_bounded(watch::status_lists& to, auto&& ctx, auto&& it, auto end) {
    read_list<Opts>(ctx, it, end, [&] {
        Item item;
        from<JSON, Item>::template op<Opts>(item, ctx, it, end);
        if (!bool(ctx.error)) watch::wire::put(to, item);
    });
}

template <>
struct from<JSON, watch::wire::conditions> {
    template <auto Opts>
    static void op(watch::wire::conditions list, auto&& ctx, auto&& it, auto end) {
        list.of->conditions.clear();
        read_bounded<Opts, watch::condition_view>(*list.of, ctx, it, end);
    }
};

template <>
struct from<JSON, watch::wire::jobs> {
    template <auto Opts>
    static void op(watch::wire::jobs list, auto&& ctx, auto&& it, auto end) {
        list.of->jobs.clear();
        read_bounded<Opts, watch::job_counts_view>(*list.of, ctx, it, end);
    }
};

template <>
struct from<JSON, watch::owner_view> {
    template <auto Opts>
    static void op(watch::owner_view& controller, auto&& ctx, auto&& it, auto end) {
        controller = {};
        read_list<Opts>(ctx, it, end, [&] {
            watch::wire::owner one;
            from<JSON, watch::wire::owner>::template op<Opts>(one, ctx, it, end);
            if (one.controls) controller = one;
        });
    }
};

template <>
struct from<JSON, watch::annotations_view> {
    template <auto Opts>
    static void op(watch::annotations_view& value, auto&& ctx, auto&& it, auto end) {
        const char* const start = it;
        value = {};
        from<JSON, watch::known_annotations>::op<Opts>(value, ctx, it, end);
        static_cast<watch::json_raw&>(value) = std::string_view(start, it);
    }
};

template <>
struct from<JSON, watch::truth> {
    template <auto Opts>
    static void op(watch::truth& value, auto&& ctx, auto&& it, auto end) {
        watch::json_text text;
        from<JSON, watch::json_text>::op<Opts>(text, ctx, it, end);
        value = text.raw == "True" ? watch::truth::yes : text.raw == "False" ? watch::truth::no : watch::truth::unknown;
    }
};

template <class Parts>
struct from<JSON, watch::wire::items<Parts>> {
    template <auto>
    static void op(watch::wire::items<Parts>& items, auto&& ctx, auto&& it, auto end) {
        constexpr auto rules = watch::wire::rules;
        items.there = true;
        if (*it == 'n') return match<"null", rules>(ctx, it, end);
        read_list<rules>(ctx, it, end, [&] {
            ++items.count;
            from<JSON, watch::wire::object<Parts>>::template op<rules>(items.object.fresh(), ctx, it, end);
            if (!bool(ctx.error)) (*items.take)(*items.object.view);
        });
    }
};

}  // namespace glz

// --- what is asked for ---------------------------------------------------------------------------------------------

namespace cotrain::watch {

namespace {

template <auto Rules = wire::rules, class Value>
base::result<> read(Value& value, std::string_view text) {
    wire::context ctx;
    ctx.begin = text.data();
    if (const auto fault = glz::read<Rules>(value, text, ctx)) return base::fail(wire::mistake(fault.ec, fault.count));
    return {};
}

// Calls `use` with what reads an object and the parts of its kind.
base::result<> with_object(object_view& view, const parts_pointer& parts, auto use) {
    return std::visit(
        [&]<class P>(P known) {
            if constexpr (std::is_same_v<P, std::monostate>)
                return use(wire::object<void>{&view, nullptr});
            else
                return use(wire::object<std::remove_pointer_t<P>>{&view, known});
        },
        parts);
}

event_type type_of(const json_text& text) {
    if (text.is("ADDED")) return event_type::added;
    if (text.is("MODIFIED")) return event_type::modified;
    if (text.is("DELETED")) return event_type::deleted;
    if (text.is("BOOKMARK")) return event_type::bookmark;
    if (text.is("ERROR")) return event_type::error;
    return event_type::unknown;
}

std::string text_of(std::string_view raw) {
    std::string text;
    return read(text, raw) ? text : std::string();
}

}  // namespace

bool json_text::is(std::string_view text) const {
    if (!escapes) return raw == text;
    std::string scratch;
    return value(scratch) == text;
}

std::string_view json_text::value(std::string& scratch) const {
    if (!escapes) return raw;
    scratch.clear();
    return append_unescaped(scratch, raw) ? std::string_view(scratch) : raw;
}

bool append_unescaped(std::string& out, std::string_view raw) {
    std::string plain;
    const bool good = read(plain, "\"" + std::string(raw) + "\"").has_value();
    out.append(plain);
    return good;
}

template <class Spec, class Status>
void object_parts<Spec, Status>::clear() {
    spec = {};
    failure.reset();
    status_lists lists = std::move(status);
    lists.conditions.clear();
    lists.jobs.clear();
    lists.left_out = false;
    status = {};
    static_cast<status_lists&>(status) = std::move(lists);
}

const base::error* failure_of(const parts_pointer& parts) {
    const auto* const job = std::get_if<train_job_parts*>(&parts);
    if (job != nullptr) return (*job)->failure ? &*(*job)->failure : nullptr;
    const auto* const set = std::get_if<job_set_parts*>(&parts);
    return set != nullptr && (*set)->failure ? &*(*set)->failure : nullptr;
}

base::result<> decode_event(std::string_view line, event_view& out, parts_pointer parts) {
    out = {};
    auto done = with_object(out.object, parts, [&]<class Object>(Object object) -> base::result<> {
        wire::event event{object};
        if (auto read_all = read(event, line); !read_all) return read_all;
        out.type = type_of(event.type);
        if (event.type.raw.data() == nullptr || !event.object.there)
            return base::fail(base::errc::decode, "it has no type or no object");
        return {};
    });
    if (!done) return base::fail(std::move(done.error()).during("watch event"));
    return {};
}

base::result<> decode_object(std::string_view object, object_view& out, parts_pointer parts) {
    return with_object(out, parts, [&](auto reader) { return read(reader.fresh(), object); });
}

base::result<page_trailer> decode_page(std::string_view text, parts_pointer parts,
                                       const std::function<void(const object_view&)>& take) {
    object_view view;
    page_trailer trailer;
    auto done = with_object(view, parts, [&]<class Object>(Object object) -> base::result<> {
        wire::page page{wire::items{object, &take}};
        auto read_all = read<wire::rules_with_null>(page, text);
        if (!read_all)
            return base::fail(std::move(read_all.error()).during("item " + std::to_string(page.items.count)));
        if (!page.items.there || page.metadata.resource_version.empty())
            return base::fail(base::errc::decode, "it has no items or no resourceVersion");
        trailer = std::move(page.metadata);
        return {};
    });
    if (!done) return base::fail(std::move(done.error()).during("list"));
    return trailer;
}

status_view decode_status(const object_view& object) {
    status_view out;
    if (!read(out.code, object.code)) out.code = 0;
    out.reason = text_of(object.reason);
    out.message = text_of(object.message);
    return out;
}

bool has_text(std::string_view raw_list, std::string_view text) {
    std::vector<std::string> list;
    return read(list, raw_list) && std::ranges::contains(list, text);
}

base::result<std::vector<json_text>> decode_runtime_classes(const object_view& runtime) {
    wire::templated<wire::job_set_spec> spec;
    std::vector<json_text> found;
    if (runtime.spec.empty()) return found;
    if (auto done = read(spec, runtime.spec); !done)
        return base::fail(std::move(done.error()).during("runtime's spec"));
    for (const auto& job : spec.inner.spec.replicatedJobs) {
        const json_text& name = job.inner.spec.inner.spec.runtimeClassName;
        const auto same = [&name](const json_text& known) { return known.raw == name.raw; };
        if (!name.empty() && std::ranges::none_of(found, same)) found.push_back(name);
    }
    return found;
}

}  // namespace cotrain::watch
