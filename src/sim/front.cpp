#include "sim/front.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <optional>
#include <utility>

#include "doc/json.hpp"
#include "doc/yaml.hpp"
#include "sim/discovery.hpp"
#include "sim/patch.hpp"
#include "sim/protobuf.hpp"
#include "sim/sub_resources.hpp"
#include "sim/table.hpp"

namespace cotrain::sim {

namespace {

enum class look : std::uint8_t { whole, metadata, table };

look look_of(std::string_view accept) {
    // The first wish that can be met; clients list the plain form last.
    const std::size_t table = accept.find("as=Table");
    const std::size_t metadata =
        std::min(accept.find("as=PartialObjectMetadata"), accept.find("as=PartialObjectMetadataList"));
    if (table == std::string_view::npos && metadata == std::string_view::npos) return look::whole;
    return table < metadata ? look::table : look::metadata;
}

std::string_view content_type_of(look as) {
    return as == look::table ? "application/json;as=Table;g=meta.k8s.io;v=v1" : "application/json";
}

answer refuse(const failure& why) { return {.status = why.code, .body = to_status(why)}; }

template <class T>
std::optional<T> read_number(std::string_view text) {
    T out{};
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), out);
    if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
    return out;
}

class session {
   public:
    session(cluster& of, const question& what, const address& at, base::seconds_time now, admission_talk* talk)
        : cluster_(of), what_(what), at_(at), now_(now), talk_(talk), look_(look_of(what.accept)) {}

    response run() {
        if (what_.method == "GET" || what_.method == "HEAD") {
            if (auto document = discover(cluster_.types(), at_, what_.accept))
                return answer{200, std::move(document->body), std::move(document->content_type)};
        }
        const auto path = read_resource_path(at_);
        const kind* const of = path ? cluster_.types().find(path->group, path->version, path->plural) : nullptr;
        if (of == nullptr) return refuse(no_such_path());
        if (of->answer != nullptr) return what_.method == "POST" ? review(*of) : refuse(method_not_allowed());
        shown_ = of;
        target where{stored(*of), path->ns, path->name, path->sub_resource == "status"};
        if (!path->sub_resource.empty() && (!where.status || !of->has_status))
            return sub_resource(where, path->sub_resource);
        if (!of->namespaced && !where.ns.empty()) return refuse(no_such_path());
        if (of->namespaced && where.ns.empty() && !where.name.empty()) return refuse(no_such_path());
        return route(where);
    }

   private:
    response route(const target& where) {
        if (what_.method == "GET" && where.name.empty())
            return at_.flag("watch") ? watch(where) : response{list(where)};
        if (what_.method == "GET") return get(where);
        if (what_.method == "DELETE" && where.name.empty()) return remove_all(where);
        if (what_.method == "DELETE" && !where.status) return remove(where);
        if (what_.method == "POST" && where.name.empty()) return write(where);
        if ((what_.method == "PUT" || what_.method == "PATCH") && !where.name.empty()) return write(where);
        return refuse(method_not_allowed());
    }

    // The kind that is kept where this one is only another form. Other versions are written as what they are.
    const kind* stored(const kind& of) const {
        if (of.of_other) return cluster_.types().find(of.of_other->group, of.of_other->version, of.of_other->plural);
        return what_.method == "GET" || what_.method == "DELETE" ? &of.kept() : &of;
    }

    response sub_resource(const target& where, std::string_view name) {
        const std::string_view method = what_.method;
        if (name == "scale" && shown_->scale) return method == "GET" ? read_scale(where) : write_scale(where);
        const bool pod = shown_->name == "Pod" && shown_->group.empty();
        if (name == "log" && pod && method == "GET") return read_log(where);
        if (name == "binding" && pod && method == "POST") return bind(where);
        if (name == "eviction" && pod && method == "POST") return remove(where, 201);
        if (name == "finalize" && shown_->plural == "namespaces" && method == "PUT") return finalize(where);
        return refuse(no_such_path());
    }

    response read_scale(const target& where) {
        const auto found = cluster_.get(where);
        if (!found) return refuse(found.error());
        doc::arena memory;
        return answer{200, doc::to_json(make_scale(memory, *shown_, open_as(memory, *shown_, **found)))};
    }

    response write_scale(const target& where) {
        if (what_.method != "PUT" && what_.method != "PATCH") return refuse(method_not_allowed());
        const auto found = cluster_.get(where);
        if (!found) return refuse(found.error());
        doc::arena memory;
        auto body = read_body(memory);
        if (!body) return refuse(body.error());
        if (what_.method == "PATCH") {
            const auto how = read_patch_type();
            if (!how) return refuse(how.error());
            const doc::ref now = make_scale(memory, *shown_, open_as(memory, *shown_, **found));
            const patched done =
                *how == patch_type::json ? json_patch(memory, now, *body) : patched{merge_patch(memory, now, *body)};
            if (!done) return refuse(bad_request(done.error().message));
            *body = *done;
        }
        const auto patch = scale_patch(memory, *shown_, where.name, *body);
        if (!patch) return refuse(patch.error());
        const auto with = read_write_options();
        if (!with) return refuse(with.error());
        target whole = where;
        whole.scale = true;
        const auto done = cluster_.patch(whole, patch_type::merge, *patch, *with, now_);
        if (!done) return refuse_or_ask(done.error());
        return answer{200, doc::to_json(make_scale(memory, *shown_, *doc::parse_json(memory, done->json)))};
    }

    response bind(const target& where) {
        const auto found = cluster_.get(where);
        if (!found) return refuse(found.error());
        doc::arena memory;
        const auto body = read_body(memory);
        if (!body) return refuse(body.error());
        const auto with = read_write_options();
        if (!with) return refuse(with.error());
        const doc::ref bound = open(memory, **found).get({"spec", "nodeName"});
        if (!bound.as_string().empty())
            return refuse(
                in_conflict(*shown_, where.name,
                            fmt::format("pod {} is already assigned to node \"{}\"", where.name, bound.text())));
        const doc::ref patch = binding_patch(memory, *body, now_);
        for (const bool status : {false, true}) {
            target part = where;
            part.status = status;
            const auto done = cluster_.patch(part, patch_type::merge, patch, *with, now_);
            if (!done) return refuse_or_ask(done.error());
        }
        return answer{201, success_status(*shown_, where.name, (*found)->uid)};
    }

    response finalize(const target& where) {
        doc::arena memory;
        const auto body = read_body(memory);
        if (!body) return refuse(body.error());
        const auto with = read_write_options();
        if (!with) return refuse(with.error());
        auto done = cluster_.finalize(where, *body, *with);
        if (!done) return refuse(done.error());
        return answer{200, std::move(done->json)};
    }

    response review(const kind& of) {
        doc::arena memory;
        const auto body = read_body(memory);
        if (!body) return refuse(body.error());
        if (!body->is_object()) return refuse(bad_request("the body is no object"));
        doc::editor object = doc::editor::of(memory, *body);
        object.set("kind", of.name).set("apiVersion", of.api_version());
        of.answer(object, talk_ != nullptr ? talk_->who : caller{}, cluster_.tokens());
        return answer{201, doc::to_json(object)};
    }

    static std::string whole(const kind& shown, const record& object) {
        if (!shown.of_other && shown.home == nullptr) return object.json;
        doc::arena memory;
        return doc::to_json(open_as(memory, shown, object));
    }

    // Items of built-in kinds have no type of their own: the list's says it.
    static std::string item(const kind& shown, const record& object) {
        std::string out = whole(shown, object);
        const std::string type = fmt::format(R"("apiVersion":"{}","kind":"{}",)", shown.api_version(), shown.name);
        if (!shown.custom && std::string_view{out}.substr(1).starts_with(type)) out.erase(1, type.size());
        return out;
    }

    std::string show(const record_ptr& object) const {
        if (look_ == look::whole) return whole(*shown_, *object);
        if (look_ == look::metadata) return only_metadata(*object);
        return make_table(*shown_, {&object, 1}, rows(), {.resource_version = fmt::format("{}", object->version)},
                          now_);
    }

    [[nodiscard]] row_object rows() const {
        const std::string_view wish = at_.get("includeObject");
        return wish == "None" ? row_object::none : wish == "Object" ? row_object::whole : row_object::metadata;
    }

    answer get(const target& where) {
        const auto found = cluster_.get(where);
        if (!found) return refuse(found.error());
        return {200, show(*found), std::string{content_type_of(look_)}};
    }

    response read_log(const target& where) {
        if (const auto found = cluster_.get(where); !found) return refuse(found.error());
        return answer{200, "(a Pod that is played: nothing runs in it, and nothing is logged)\n", "text/plain"};
    }

    // A list's page: where it starts and at which version it is read.
    struct page {
        std::uint64_t version = 0;
        std::size_t seen = 0;  // items on the pages before
        std::optional<object_key> after{};
    };

    outcome<page> read_page() const {
        const store& objects = cluster_.objects();
        page out{objects.version()};
        const std::string_view token = at_.get("continue");
        if (token.empty()) {
            const std::string_view asked = at_.get("resourceVersion");
            if (asked.empty() || asked == "0") return out;
            const auto version = read_number<std::uint64_t>(asked);
            if (!version) return std::unexpected(bad_request(fmt::format("invalid resource version \"{}\"", asked)));
            if (*version > out.version) {
                return std::unexpected(failure{
                    504, "Timeout", fmt::format("Too large resource version: {}, current: {}", *version, out.version)});
            }
            if (at_.get("resourceVersionMatch") == "Exact") out.version = *version;
        } else {
            // version.seen.namespace/name
            const std::size_t dot = token.find('.');
            const std::size_t next = token.find('.', std::min(dot, token.size() - 1) + 1);
            const std::size_t slash = token.find('/');
            const auto version = read_number<std::uint64_t>(token.substr(0, dot));
            if (!version || next == std::string_view::npos || slash == std::string_view::npos)
                return std::unexpected(bad_request("continue key is not valid"));
            out.version = *version;
            out.seen = read_number<std::size_t>(token.substr(dot + 1, next - dot - 1)).value_or(0);
            out.after = object_key{token.substr(next + 1, slash - next - 1), token.substr(slash + 1)};
        }
        if (out.version < objects.compacted())
            return std::unexpected(
                expired("The provided continue parameter is too old to display a consistent list result. You can start "
                        "a new list without the continue parameter."));
        return out;
    }

    answer list(const target& where) {
        const auto wanted = read_selector(*shown_, at_.get("labelSelector"), at_.get("fieldSelector"));
        if (!wanted) return refuse(bad_request(wanted.error()));
        const auto from = read_page();
        if (!from) return refuse(from.error());
        list_wish wish{.ns = where.ns, .version = from->version, .after = from->after};
        if (!wanted->empty()) wish.takes = [&](const record& each) { return wanted->takes(each); };
        const auto asked = at_.get("limit").empty() ? 0 : read_number<std::int64_t>(at_.get("limit"));
        if (!asked) return refuse(bad_request(fmt::format("limit: parsing \"{}\": invalid syntax", at_.get("limit"))));
        const auto limit = static_cast<std::size_t>(std::max<std::int64_t>(*asked, 0));
        if (limit > 0) wish.items_max = limit + 1;
        std::vector<record_ptr> all = cluster_.objects().list(*where.of, wish);
        list_facts facts{fmt::format("{}", from->version)};
        if (limit > 0 && all.size() > limit) {
            all.resize(limit);
            const std::size_t seen = from->seen + limit;
            // Only where it takes no counting.
            if (wanted->empty() && where.ns.empty())
                facts.remaining = std::max(cluster_.objects().count(*where.of), seen + 1) - seen;
            facts.continue_token = fmt::format("{}.{}.{}/{}", from->version, seen, all.back()->ns, all.back()->name);
        }
        if (look_ == look::table)
            return {200, make_table(*shown_, all, rows(), facts, now_), std::string{content_type_of(look_)}};
        return {200, show_list(*shown_, all, facts)};
    }

    std::string show_list(const kind& of, const std::vector<record_ptr>& all, const list_facts& facts) const {
        const bool partial = look_ == look::metadata;
        std::string out = fmt::format(R"({{"kind":"{}","apiVersion":"{}","metadata":{{"resourceVersion":"{}")",
                                      partial ? "PartialObjectMetadataList" : of.list_name,
                                      partial ? "meta.k8s.io/v1" : of.api_version(), facts.resource_version);
        if (!facts.continue_token.empty()) {
            out += fmt::format(R"(,"continue":"{}")", facts.continue_token);
            if (facts.remaining > 0) out += fmt::format(R"(,"remainingItemCount":{})", facts.remaining);
        }
        out += R"(},"items":[)";
        for (const record_ptr& each : all) {
            if (out.back() != '[') out += ',';
            out += partial ? only_metadata(*each) : item(of, *each);
        }
        return out + "]}";
    }

    response watch(const target& where) {
        auto wanted = read_selector(*shown_, at_.get("labelSelector"), at_.get("fieldSelector"));
        if (!wanted) return refuse(bad_request(wanted.error()));
        opened_watch out{.wish = {.of = where.of, .shown = shown_, .ns = where.ns, .wanted = std::move(*wanted)},
                         .timeout = watch_time_default,
                         .content_type = std::string{content_type_of(look_)}};
        const std::string_view version = at_.get("resourceVersion");
        const auto number = read_number<std::uint64_t>(version.empty() ? std::string_view{"0"} : version);
        if (!number) return refuse(bad_request(fmt::format("invalid resource version \"{}\"", version)));
        if (at_.flag("sendInitialEvents")) {
            if (at_.get("resourceVersionMatch") != "NotOlderThan")
                return refuse({422, "Invalid",
                               "ListOptions.meta.k8s.io \"\" is invalid: resourceVersionMatch: Forbidden: "
                               "sendInitialEvents requires setting resourceVersionMatch to NotOlderThan"});
            out.wish.initial_events = true;
        } else if (*number != 0) {
            out.wish.from = *number;
        }
        out.wish.bookmarks = at_.flag("allowWatchBookmarks");
        if (const auto seconds = read_number<std::int64_t>(at_.get("timeoutSeconds")); seconds && *seconds > 0)
            out.timeout = std::min(std::chrono::seconds{*seconds}, watch_time_max);
        // Of a table, only the first event says what the columns are.
        out.wish.show = [as = look_, with = rows(), shown = shown_, first = true](const record& object,
                                                                                  base::seconds_time now) mutable {
            if (as == look::whole) return whole(*shown, object);
            if (as == look::metadata) return only_metadata(object);
            const auto row = std::make_shared<const record>(object);
            return make_table(*shown, {&row, 1}, with, {.resource_version = fmt::format("{}", object.version)}, now,
                              std::exchange(first, false));
        };
        return out;
    }

    outcome<patch_type> read_patch_type() const {
        const std::string_view type = what_.content_type.substr(0, what_.content_type.find(';'));
        if (type == "application/merge-patch+json") return patch_type::merge;
        if (type == "application/json-patch+json") return patch_type::json;
        if (type == "application/strategic-merge-patch+json") return patch_type::strategic;
        if (type == "application/apply-patch+yaml") return patch_type::apply;
        return std::unexpected(unsupported_media(type));
    }

    outcome<doc::ref> read_body(doc::arena& memory) const {
        if (what_.content_type.find("cbor") != std::string_view::npos)
            return std::unexpected(unsupported_media(what_.content_type));
        if (what_.content_type.find("protobuf") != std::string_view::npos) {
            auto document = read_protobuf(memory, what_.body);
            if (!document) return std::unexpected(failure{415, "UnsupportedMediaType", std::move(document.error())});
            return *document;
        }
        const bool yaml = what_.content_type.find("yaml") != std::string_view::npos;
        auto read = yaml ? doc::parse_yaml(memory, what_.body) : doc::parse_json(memory, what_.body);
        if (!read) return std::unexpected(bad_request("the object provided is unrecognized: " + read.error().message));
        return *read;
    }

    outcome<write_options> read_write_options() const {
        write_options out;
        out.manager = at_.get("fieldManager");
        if (out.manager.empty() && what_.content_type.find("apply-patch") == std::string_view::npos)
            out.manager = what_.user_agent.substr(0, what_.user_agent.find('/'));
        out.force = at_.flag("force");
        out.dry_run = at_.get("dryRun") == "All";
        if (!at_.get("dryRun").empty() && !out.dry_run)
            return std::unexpected(bad_request(
                fmt::format("dryRun: Unsupported value: \"{}\": supported values: \"All\"", at_.get("dryRun"))));
        out.strict = at_.get("fieldValidation") == "Strict";
        out.talk = talk_;
        return out;
    }

    // What the failure says, or the webhook that has to be asked.
    response refuse_or_ask(const failure& why) const {
        if (is_pending(why)) return *talk_->asked;
        return refuse(why);
    }

    response write(const target& where) {
        doc::arena memory;
        auto body = read_body(memory);
        if (!body) return refuse(body.error());
        if (shown_->of_other) {
            // A patch of one form says nothing about the other.
            if (what_.method == "PATCH") return refuse(method_not_allowed());
            *body = shown_->of_other->read(memory, *body);
        }
        const auto with = read_write_options();
        if (!with) return refuse(with.error());
        outcome<written> done;
        if (what_.method == "POST") {
            done = cluster_.create(where, *body, *with, now_);
        } else if (what_.method == "PUT") {
            done = cluster_.update(where, *body, *with, now_);
        } else {
            const auto how = read_patch_type();
            if (!how) return refuse(how.error());
            done = cluster_.patch(where, *how, *body, *with, now_);
        }
        if (!done) return refuse_or_ask(done.error());
        if (at_.get("fieldValidation") == "Ignore") done->warnings.clear();
        return answer{done->created ? 201 : 200, show_written(std::move(done->json)), "application/json",
                      std::move(done->warnings)};
    }

    std::string show_written(std::string json) const {
        if (!shown_->of_other) return json;
        doc::arena memory;
        return doc::to_json(shown_->of_other->show(memory, *doc::parse_json(memory, json)));
    }

    outcome<removal> read_removal() const {
        doc::arena memory;
        const auto body = what_.body.empty() ? outcome<doc::ref>{} : read_body(memory);
        if (!body) return std::unexpected(body.error());
        // An Eviction has them inside.
        const doc::ref options = body->contains("deleteOptions") ? body->get("deleteOptions") : *body;
        removal how;
        std::string_view policy = options.get("propagationPolicy").as_string();
        if (policy.empty()) policy = at_.get("propagationPolicy");
        const auto orphans = options.get("orphanDependents").as_bool();
        if (policy.empty() && !orphans && shown_->orphans_dependents) policy = "Orphan";
        if (policy == "Foreground") how.dependents = propagation::foreground;
        if (policy == "Orphan" || orphans.value_or(false)) how.dependents = propagation::orphan;
        how.uid = options.get({"preconditions", "uid"}).as_string();
        how.resource_version = options.get({"preconditions", "resourceVersion"}).as_string();
        how.dry_run = at_.get("dryRun") == "All" || options.get("dryRun").at(0).as_string() == "All";
        how.talk = talk_;
        return how;
    }

    response remove(const target& where, int status = 200) {
        const auto how = read_removal();
        if (!how) return refuse(how.error());
        auto done = cluster_.remove(where, *how, now_);
        if (!done) return refuse_or_ask(done.error());
        doc::arena memory;
        if (shown_->home != nullptr)
            done->json = doc::to_json(in_version(memory, *doc::parse_json_copy(memory, done->json)));
        return answer{status, std::move(done->json)};
    }

    // What is no Status of a removal, as the version that was asked for.
    doc::ref in_version(doc::arena& memory, doc::ref object) const {
        if (object.get("kind").as_string() != shown_->name) return object;
        return doc::editor::of(memory, object).set("apiVersion", shown_->api_version());
    }

    response remove_all(const target& where) {
        if (shown_->namespaced ? where.ns.empty() : shown_->plural == "namespaces") return refuse(method_not_allowed());
        const auto wanted = read_selector(*shown_, at_.get("labelSelector"), at_.get("fieldSelector"));
        if (!wanted) return refuse(bad_request(wanted.error()));
        const auto how = read_removal();
        if (!how) return refuse(how.error());
        list_wish wish{.ns = where.ns, .version = cluster_.objects().version()};
        if (!wanted->empty()) wish.takes = [&](const record& each) { return wanted->takes(each); };
        const std::vector<record_ptr> all = cluster_.objects().list(*where.of, wish);
        for (const record_ptr& each : all) {
            const auto done = cluster_.remove({where.of, each->ns, each->name}, *how, now_);
            if (!done && done.error().code != 404) return refuse_or_ask(done.error());
        }
        return answer{200, show_list(*shown_, all, {fmt::format("{}", cluster_.objects().version())})};
    }

    cluster& cluster_;
    const question& what_;
    const address& at_;
    base::seconds_time now_;
    admission_talk* talk_;
    look look_;
    const kind* shown_ = nullptr;  // the form that the client asked for
};

}  // namespace

watcher::watcher(const cluster& of, watch_wish wish) : cluster_(&of), wish_(std::move(wish)) {
    if (wish_.from) {
        version_ = *wish_.from;
        return;
    }
    version_ = of.objects().version();
    list_wish all{.ns = wish_.ns, .version = version_};
    if (!wish_.wanted.empty()) all.takes = [this](const record& each) { return wish_.wanted.takes(each); };
    for (record_ptr& each : of.objects().list(*wish_.of, all)) initial_.push_back(std::move(each));
    initial_open_ = wish_.initial_events;
}

std::string watcher::event(std::string_view type, const record& object, base::seconds_time now) const {
    return fmt::format("{{\"type\":\"{}\",\"object\":{}}}\n", type, wish_.show(object, now));
}

std::string watcher::bookmark_event(bool ends_initial) const {
    const kind& shown = wish_.shown != nullptr ? *wish_.shown : *wish_.of;
    return fmt::format(
        R"({{"type":"BOOKMARK","object":{{"kind":"{}","apiVersion":"{}","metadata":{{"resourceVersion":"{}"{}}}}}}})"
        "\n",
        shown.name, shown.api_version(), version_,
        ends_initial ? R"(,"annotations":{"k8s.io/initial-events-end":"true"})" : "");
}

std::optional<std::string> watcher::event_of(const change& what, base::seconds_time now) const {
    const record& some = what.after ? *what.after : *what.last;
    if (what.of != wish_.of || (!wish_.ns.empty() && some.ns != wish_.ns)) return std::nullopt;
    const bool before = what.before && wish_.wanted.takes(*what.before);
    const bool after = what.after && wish_.wanted.takes(*what.after);
    if (after) return event(before ? "MODIFIED" : "ADDED", *what.after, now);
    if (!before) return std::nullopt;
    // An object that left the selection is shown as it was, at the version at which it left.
    if (what.last) return event("DELETED", *what.last, now);
    record left = *what.before;
    left.version = what.version;
    const std::string old = fmt::format("\"resourceVersion\":\"{}\"", what.before->version);
    if (const std::size_t at = left.json.find(old); at != std::string::npos)
        left.json.replace(at, old.size(), fmt::format("\"resourceVersion\":\"{}\"", what.version));
    return event("DELETED", left, now);
}

std::optional<std::string> watcher::next(base::seconds_time now) {
    if (over_) return std::nullopt;
    if (!initial_.empty()) {
        const record_ptr object = std::move(initial_.front());
        initial_.pop_front();
        return event("ADDED", *object, now);
    }
    if (initial_open_) {
        initial_open_ = false;
        return bookmark_event(true);
    }
    const store& objects = cluster_->objects();
    if (version_ < objects.compacted()) {
        over_ = true;
        return fmt::format(
            "{{\"type\":\"ERROR\",\"object\":{}}}\n",
            to_status(expired(fmt::format("too old resource version: {} ({})", version_, objects.compacted()))));
    }
    while (const change* const what = objects.next(version_)) {
        version_ = what->version;
        if (auto line = event_of(*what, now)) return line;
    }
    return std::nullopt;
}

std::optional<std::string> watcher::bookmark() {
    if (over_ || !wish_.bookmarks || !initial_.empty() || initial_open_) return std::nullopt;
    return bookmark_event(false);
}

request_name name_request(std::string_view method, std::string_view target) {
    const auto at = read_address(target);
    const auto where = at ? read_resource_path(*at) : std::nullopt;
    if (!where) return {};
    const auto verb = [&]() -> std::string_view {
        if (method == "POST") return "create";
        if (method == "PUT") return "update";
        if (method == "PATCH") return "patch";
        if (method == "DELETE") return "delete";
        return at->flag("watch") ? "watch" : where->name.empty() ? "list" : "get";
    };
    return {std::string{verb()}, where->plural};
}

response ask(cluster& of, const question& what, base::seconds_time now, admission_talk* talk) {
    const auto at = read_address(what.target);
    if (!at) return refuse(bad_request("the request's target has a broken escape"));
    return session(of, what, *at, now, talk).run();
}

}  // namespace cotrain::sim
