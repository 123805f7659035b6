#include "sim/admission.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <utility>

#include "base/encoding.hpp"
#include "doc/json.hpp"
#include "sim/cluster.hpp"
#include "sim/definition.hpp"
#include "sim/patch.hpp"
#include "sim/shaping.hpp"
#include "sim/store.hpp"

namespace cotrain::sim {

namespace {

constexpr std::int64_t timeout_seconds_default = 10;
constexpr std::int64_t timeout_seconds_max = 30;

bool names(doc::ref list, std::string_view text) {
    return std::ranges::any_of(list.items(),
                               [&](doc::ref each) { return each.as_string() == "*" || each.as_string() == text; });
}

bool names_resource(doc::ref list, std::string_view plural, std::string_view sub) {
    const std::string whole = sub.empty() ? std::string{plural} : fmt::format("{}/{}", plural, sub);
    return std::ranges::any_of(list.items(), [&](doc::ref each) {
        const std::string_view text = each.as_string();
        return text == whole || text == "*/*" || (sub.empty() && text == "*") || text == fmt::format("{}/*", plural) ||
               (!sub.empty() && text == fmt::format("*/{}", sub));
    });
}

bool is_meant(doc::ref hook, const admission_subject& about) {
    return std::ranges::any_of(hook.get("rules").items(), [&](doc::ref rule) {
        const std::string_view scope = rule.get("scope").as_string("*");
        return names(rule.get("apiGroups"), about.of->group) && names(rule.get("apiVersions"), about.of->version) &&
               names(rule.get("operations"), about.operation) &&
               names_resource(rule.get("resources"), about.of->plural, about.status ? "status" : "") &&
               (scope == "*" || (scope == "Namespaced") == about.of->namespaced);
    });
}

label_list labels_of(doc::ref object) {
    label_list out;
    for (const doc::member& m : object.get({"metadata", "labels"}).members())
        out.emplace_back(m.key(), m.value.as_string());
    return out;
}

// As the API server: an object is selected if it is, or was.
bool is_selected(doc::ref hook, const kinds& types, const store& objects, const admission_subject& about,
                 doc::ref object) {
    const auto wanted = read_label_selector(hook.get("objectSelector"));
    if (!wanted.empty() && !all_hold(wanted, labels_of(object)) &&
        !(about.old && all_hold(wanted, labels_of(about.old)))) {
        return false;
    }
    const auto spaces = read_label_selector(hook.get("namespaceSelector"));
    if (spaces.empty() || !about.of->namespaced) return true;
    const record_ptr space = objects.find(*types.find("", "v1", "namespaces"), "", about.ns);
    return space && all_hold(spaces, space->labels);
}

// The rest of a URL behind "https://".
void read_url(std::string_view text, hook_call& out) {
    if (text.starts_with("https://")) text.remove_prefix(8);
    const std::size_t slash = text.find('/');
    out.path = slash == std::string_view::npos ? "/" : std::string{text.substr(slash)};
    // envtest writes "https://127.0.0.1:9443//mutate"; the API server joins paths.
    for (std::size_t at = out.path.find("//"); at != std::string::npos; at = out.path.find("//", at))
        out.path.erase(at, 1);
    text = text.substr(0, slash);
    if (const std::size_t colon = text.rfind(':'); colon != std::string_view::npos && !text.ends_with(']')) {
        std::from_chars(text.data() + colon + 1, text.data() + text.size(), out.port);
        text = text.substr(0, colon);
    }
    out.host = text;
}

hook_call to_call(doc::ref hook) {
    hook_call out{.hook = std::string{hook.get("name").as_string()}};
    const doc::ref config = hook.get("clientConfig");
    out.ca_pem = base::decode_base64(config.get("caBundle").as_string()).value_or("");
    out.timeout = std::chrono::seconds{
        std::clamp<std::int64_t>(hook.get("timeoutSeconds").as_int(timeout_seconds_default), 1, timeout_seconds_max)};
    if (const doc::ref service = config.get("service")) {
        const std::string_view ns = service.get("namespace").as_string();
        const std::string_view name = service.get("name").as_string();
        out.service = fmt::format("{}/{}", ns, name);
        out.host = fmt::format("{}.{}.svc", name, ns);
        out.port = static_cast<std::uint16_t>(service.get("port").as_int(443));
        out.path = service.get("path").as_string("/");
    } else {
        read_url(config.get("url").as_string(), out);
    }
    return out;
}

void set_kind(doc::editor into, const kind& of) {
    into.set("group", of.group).set("version", of.version).set("kind", of.name);
}
void set_resource(doc::editor into, const kind& of) {
    into.set("group", of.group).set("version", of.version).set("resource", of.plural);
}

std::string make_review(const admission_subject& about, doc::ref object, const admission_talk& talk) {
    doc::arena memory;
    doc::editor out = doc::editor::object(memory);
    out.set("kind", "AdmissionReview").set("apiVersion", "admission.k8s.io/v1");
    doc::editor request = out.ensure_object("request");
    request.set("uid", talk.uid);
    for (const char* each : {"kind", "requestKind"}) set_kind(request.ensure_object(each), *about.of);
    for (const char* each : {"resource", "requestResource"}) set_resource(request.ensure_object(each), *about.of);
    if (about.status) request.set("subResource", "status").set("requestSubResource", "status");
    request.set("name", about.name);
    if (about.of->namespaced) request.set("namespace", about.ns);
    request.set("operation", about.operation);
    doc::editor user = request.ensure_object("userInfo");
    user.set("username", talk.who.name);
    for (const std::string& group : talk.who.groups) user.ensure_array("groups").append(group);
    // Copies: what becomes part of a document cannot be edited any more.
    request.set("object", about.operation == "DELETE" ? doc::ref::make_null() : deep_copy(memory, object));
    request.set("oldObject", about.old ? deep_copy(memory, about.old) : doc::ref::make_null());
    request.set("dryRun", about.dry_run);
    std::string options{about.operation};
    std::ranges::transform(options.begin() + 1, options.end(), options.begin() + 1,
                           [](char c) { return static_cast<char>(c - 'A' + 'a'); });
    request.ensure_object("options").set("kind", options + "Options").set("apiVersion", "meta.k8s.io/v1");
    return doc::to_json(out);
}

std::string key_of(const std::string& hook, const std::string& review) { return hook + "\n" + review; }

failure not_called(const hook_call& hook, std::string_view why) {
    return internal(fmt::format(R"(failed calling webhook "{}": failed to call webhook: Post "https://{}:{}{}": {})",
                                hook.hook, hook.host, hook.port, hook.path, why));
}

// Why the API server would not take that for an answer to the review; empty if it would.
std::string fault_of(doc::ref review, std::string_view uid) {
    const std::string_view version = review.get("apiVersion").as_string();
    const std::string_view kind_name = review.get("kind").as_string();
    if (version != "admission.k8s.io/v1" || kind_name != "AdmissionReview")
        return fmt::format("expected webhook response of admission.k8s.io/v1, Kind=AdmissionReview, got {}, Kind={}",
                           version, kind_name);
    const doc::ref response = review.get("response");
    if (!response.get("allowed").is_bool()) return "the answer is no AdmissionReview with a response";
    if (const std::string_view said = response.get("uid").as_string(); said != uid)
        return fmt::format("expected response.uid=\"{}\", got \"{}\"", uid, said);
    const bool patches = !response.get("patch").as_string().empty();
    const std::string_view type = response.get("patchType").as_string();
    if (patches && type.empty()) return "webhook returned response.patch but not response.patchType";
    if (!patches && !type.empty()) return "webhook returned response.patchType but not response.patch";
    if (patches && type != "JSONPatch") return fmt::format("unsupported patch type \"{}\"", type);
    return {};
}

failure denied(const hook_call& hook, doc::ref status) {
    const std::string_view message = status.get("message").as_string(status.get("reason").as_string());
    failure out{static_cast<int>(status.get("code").as_int(403)),
                std::string{status.get("reason").as_string("Forbidden")},
                fmt::format(R"(admission webhook "{}" denied the request{}{})", hook.hook,
                            message.empty() ? " without explanation" : ": ", message)};
    if (out.code < 400 || out.code > 599) out.code = 403;
    return out;
}

// One webhook's part in a request.
class consultation {
   public:
    consultation(const admission_subject& about, admission_talk& talk, std::vector<std::string>& warnings)
        : about_(about), talk_(talk), warnings_(warnings) {}

    // The response of its review; nothing if it failed and that may be.
    outcome<doc::ref> ask(doc::arena& memory, doc::ref hook, doc::ref object) {
        hook_call call = to_call(hook);
        call.review = make_review(about_, object, talk_);
        const auto said = talk_.answers.find(key_of(call.hook, call.review));
        if (said == talk_.answers.end()) {
            if (talk_.answers.size() >= hooks_asked_max)
                return std::unexpected(not_called(call, "too many webhooks were asked about this request"));
            talk_.asked = std::move(call);
            return std::unexpected(failure{.code = 0});
        }
        const bool may_fail = hook.get("failurePolicy").as_string() == "Ignore";
        const auto read = said->second.reached ? doc::parse_json(memory, said->second.text)
                                               : base::fail(base::errc::connect, said->second.text);
        if (!read) return may_fail ? outcome<doc::ref>{} : std::unexpected(not_called(call, read.error().message));
        if (const std::string why = fault_of(*read, talk_.uid); !why.empty())
            return may_fail ? outcome<doc::ref>{} : std::unexpected(not_called(call, why));
        const doc::ref response = read->get("response");
        for (const doc::ref each : response.get("warnings").items()) warnings_.emplace_back(each.as_string());
        if (!response.get("allowed").as_bool(false)) return std::unexpected(denied(call, response.get("status")));
        return response;
    }

   private:
    const admission_subject& about_;
    admission_talk& talk_;
    std::vector<std::string>& warnings_;
};

// Calls for every webhook that the request is for; ends at the first failure.
template <class Call>
outcome<> each_hook(const kinds& types, const store& objects, std::string_view plural, const admission_subject& about,
                    const doc::ref& object, Call call) {
    const kind* const of = types.find("admissionregistration.k8s.io", "v1", plural);
    // Configurations are never judged by themselves, or a wrong one could not be taken away.
    if (about.of->group == of->group || objects.count(*of) == 0) return {};
    for (const record_ptr& each : objects.list(*of, {.version = objects.version()})) {
        doc::arena memory;
        for (const doc::ref hook : open(memory, *each).get("webhooks").items()) {
            if (!is_meant(hook, about) || !is_selected(hook, types, objects, about, object)) continue;
            if (auto done = call(hook); !done) return done;
        }
    }
    return {};
}

admission_subject subject(const target& at, doc::ref live, const write_options& with) {
    return {.of = at.of,
            .ns = at.ns,
            .name = at.name,
            .operation = live ? "UPDATE" : "CREATE",
            .status = at.status,
            .dry_run = with.dry_run,
            .old = live};
}

}  // namespace

void admission_talk::answer(hook_answer said) {
    answers[key_of(asked->hook, asked->review)] = std::move(said);
    asked.reset();
}

outcome<doc::ref> mutate(doc::arena& memory, const kinds& types, const store& objects, const admission_subject& about,
                         doc::ref object, admission_talk& talk, std::vector<std::string>& warnings) {
    consultation with(about, talk, warnings);
    const auto apply = [&](doc::ref hook) -> outcome<> {
        const auto response = with.ask(memory, hook, object);
        if (!response) return std::unexpected(response.error());
        const std::string_view patch = response->get("patch").as_string();
        if (patch.empty()) return {};
        const auto text = base::decode_base64(patch);
        const auto operations = text ? doc::parse_json_copy(memory, *text) : base::fail(base::errc::decode, "base64");
        if (!operations) return std::unexpected(internal("a webhook's patch cannot be read"));
        const patched done = json_patch(memory, deep_copy(memory, object), *operations);
        if (!done) return std::unexpected(internal("a webhook's patch does not fit: " + done.error().message));
        object = *done;
        return {};
    };
    if (auto done = each_hook(types, objects, "mutatingwebhookconfigurations", about, object, apply); !done)
        return std::unexpected(std::move(done.error()));
    return object;
}

outcome<> validate(const kinds& types, const store& objects, const admission_subject& about, doc::ref object,
                   admission_talk& talk, std::vector<std::string>& warnings) {
    consultation with(about, talk, warnings);
    const auto ask = [&](doc::ref hook) -> outcome<> {
        doc::arena memory;
        if (auto said = with.ask(memory, hook, object); !said) return std::unexpected(std::move(said.error()));
        return {};
    };
    return each_hook(types, objects, "validatingwebhookconfigurations", about, object, ask);
}

outcome<> cluster::mutate_by_hooks(const target& at, doc::editor& object, doc::ref live, const write_options& with,
                                   std::vector<std::string>& warnings) {
    if (with.talk == nullptr) return {};
    if (with.talk->uid.empty()) with.talk->uid = make_uid();
    doc::arena& memory = object.memory();
    const doc::ref before = object.view();
    auto made = mutate(memory, kinds_, store_, subject(at, live, with), before, *with.talk, warnings);
    if (!made) return std::unexpected(std::move(made.error()));
    if (made->same(before)) return {};
    auto read = decode(memory, *at.of, *made);
    if (!read) return std::unexpected(std::move(read.error()));
    object = read->object;
    return {};
}

outcome<> cluster::validate_by_hooks(const target& at, doc::ref object, doc::ref live, const write_options& with,
                                     std::vector<std::string>& warnings) {
    if (with.talk == nullptr) return {};
    return validate(kinds_, store_, subject(at, live, with), object, *with.talk, warnings);
}

outcome<> cluster::ask_about_end(const target& at, const record& state, const removal& how,
                                 std::vector<std::string>& warnings) {
    if (how.talk == nullptr) return {};
    if (how.talk->uid.empty()) how.talk->uid = make_uid();
    doc::arena memory;
    const doc::ref live = open(memory, state);
    const admission_subject about{
        .of = at.of, .ns = at.ns, .name = at.name, .operation = "DELETE", .dry_run = how.dry_run, .old = live};
    return validate(kinds_, store_, about, live, *how.talk, warnings);
}

outcome<> cluster::define(const kind& of, doc::ref object, const write_options& with) {
    if (of.name != "CustomResourceDefinition") return {};
    const std::string_view name = object.get({"metadata", "name"}).as_string();
    if (auto fault = find_fault(object, false)) return std::unexpected(invalid(of, name, {*fault}));
    if (with.dry_run) return {};
    if (auto made = kinds_.define(object); !made) {
        return std::unexpected(invalid(of, name, {{"spec", crd::fault::invalid, std::move(made.error().message)}}));
    }
    return {};
}

}  // namespace cotrain::sim
