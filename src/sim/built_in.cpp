#include "sim/built_in.hpp"

#include <fmt/format.h>

#include <array>
#include <stdexcept>
#include <utility>

#include "base/encoding.hpp"
#include "crd/node.hpp"
#include "doc/edit.hpp"
#include "doc/json.hpp"
#include "sim/table.hpp"

namespace cotrain::sim {

namespace {

namespace schema = crd;

constexpr std::string_view types = R"json({
"Text":{"type":"string"},
"Texts":{"type":"object","additionalProperties":{"type":"string"}},
"OwnerReference":{"type":"object","x-kubernetes-map-type":"atomic","required":["apiVersion","kind","name","uid"],"properties":{
  "apiVersion":{"type":"string"},"kind":{"type":"string"},"name":{"type":"string"},"uid":{"type":"string"},
  "controller":{"type":"boolean"},"blockOwnerDeletion":{"type":"boolean"}}},
"ManagedFieldsEntry":{"type":"object","properties":{
  "apiVersion":{"type":"string"},"fieldsType":{"type":"string"},"manager":{"type":"string"},
  "fieldsV1":{"type":"object","x-kubernetes-preserve-unknown-fields":true,"x-kubernetes-map-type":"atomic"},
  "operation":{"type":"string"},"subresource":{"type":"string"},"time":{"type":"string"}}},
"ObjectMeta":{"type":"object","properties":{
  "annotations":{"$ref":"Texts"},"labels":{"$ref":"Texts"},
  "creationTimestamp":{"type":"string"},"deletionTimestamp":{"type":"string"},
  "deletionGracePeriodSeconds":{"type":"integer","format":"int64"},
  "finalizers":{"type":"array","items":{"type":"string"},"x-kubernetes-list-type":"set"},
  "generateName":{"type":"string"},"generation":{"type":"integer","format":"int64"},
  "managedFields":{"type":"array","items":{"$ref":"ManagedFieldsEntry"},"x-kubernetes-list-type":"atomic"},
  "name":{"type":"string"},"namespace":{"type":"string"},
  "ownerReferences":{"type":"array","items":{"$ref":"OwnerReference"},"x-kubernetes-list-type":"map","x-kubernetes-list-map-keys":["uid"]},
  "resourceVersion":{"type":"string"},"selfLink":{"type":"string"},"uid":{"type":"string"}}},
"ObjectReference":{"type":"object","x-kubernetes-map-type":"atomic","properties":{
  "apiVersion":{"type":"string"},"fieldPath":{"type":"string"},"kind":{"type":"string"},"name":{"type":"string"},
  "namespace":{"type":"string"},"resourceVersion":{"type":"string"},"uid":{"type":"string"}}},
"NamedReference":{"type":"object","x-kubernetes-map-type":"atomic","properties":{"name":{"type":"string","default":""}}},
"Condition":{"type":"object","required":["type","status"],"properties":{
  "type":{"type":"string"},"status":{"type":"string"},"reason":{"type":"string"},"message":{"type":"string"},
  "lastTransitionTime":{"type":"string"},"lastProbeTime":{"type":"string"},"observedGeneration":{"type":"integer","format":"int64"}}},
"Conditions":{"type":"array","items":{"$ref":"Condition"},"x-kubernetes-list-type":"map","x-kubernetes-list-map-keys":["type"]},
"Amounts":{"type":"object","additionalProperties":{"x-kubernetes-int-or-string":true}},
"ConfigMap":{"type":"object","properties":{
  "data":{"$ref":"Texts"},"binaryData":{"$ref":"Texts"},"immutable":{"type":"boolean"}}},
"Secret":{"type":"object","properties":{
  "data":{"$ref":"Texts"},"stringData":{"$ref":"Texts"},"immutable":{"type":"boolean"},"type":{"type":"string"}}},
"Namespace":{"type":"object","properties":{
  "spec":{"type":"object","properties":{"finalizers":{"type":"array","items":{"type":"string"},"x-kubernetes-list-type":"atomic"}}},
  "status":{"type":"object","properties":{"phase":{"type":"string"},"conditions":{"$ref":"Conditions"}}}}},
"ServiceAccount":{"type":"object","properties":{
  "automountServiceAccountToken":{"type":"boolean"},
  "imagePullSecrets":{"type":"array","items":{"$ref":"NamedReference"},"x-kubernetes-list-type":"atomic"},
  "secrets":{"type":"array","items":{"$ref":"ObjectReference"},"x-kubernetes-list-type":"map","x-kubernetes-list-map-keys":["name"]}}},
"LimitRangeItem":{"type":"object","required":["type"],"properties":{
  "type":{"type":"string"},"default":{"$ref":"Amounts"},"defaultRequest":{"$ref":"Amounts"},"max":{"$ref":"Amounts"},
  "min":{"$ref":"Amounts"},"maxLimitRequestRatio":{"$ref":"Amounts"}}},
"LimitRange":{"type":"object","properties":{
  "spec":{"type":"object","required":["limits"],"properties":{
    "limits":{"type":"array","items":{"$ref":"LimitRangeItem"},"x-kubernetes-list-type":"atomic"}}}}},
"RuntimeClass":{"type":"object","required":["handler"],"properties":{
  "handler":{"type":"string"},
  "overhead":{"type":"object","properties":{"podFixed":{"$ref":"Amounts"}}},
  "scheduling":{"type":"object","properties":{
    "nodeSelector":{"type":"object","additionalProperties":{"type":"string"},"x-kubernetes-map-type":"atomic"},
    "tolerations":{"type":"array","x-kubernetes-list-type":"atomic","items":{"type":"object","x-kubernetes-preserve-unknown-fields":true}}}}}},
"PriorityClass":{"type":"object","required":["value"],"properties":{
  "value":{"type":"integer","format":"int32"},"globalDefault":{"type":"boolean"},"description":{"type":"string"},
  "preemptionPolicy":{"type":"string"}}},
"Event":{"type":"object","properties":{
  "eventTime":{"type":"string"},"action":{"type":"string"},"note":{"type":"string"},"reason":{"type":"string"},
  "type":{"type":"string"},"reportingController":{"type":"string"},"reportingInstance":{"type":"string"},
  "regarding":{"$ref":"ObjectReference"},"related":{"$ref":"ObjectReference"},
  "series":{"type":"object","properties":{"count":{"type":"integer","format":"int32"},"lastObservedTime":{"type":"string"}}},
  "deprecatedCount":{"type":"integer","format":"int32"},"deprecatedFirstTimestamp":{"type":"string"},
  "deprecatedLastTimestamp":{"type":"string"},
  "deprecatedSource":{"type":"object","properties":{"component":{"type":"string"},"host":{"type":"string"}}}}},
"WebhookConfiguration":{"type":"object","properties":{
  "webhooks":{"type":"array","x-kubernetes-list-type":"map","x-kubernetes-list-map-keys":["name"],"items":{
    "type":"object","required":["name","clientConfig"],"x-kubernetes-preserve-unknown-fields":true,"properties":{
      "name":{"type":"string"},"clientConfig":{"type":"object","x-kubernetes-preserve-unknown-fields":true,"properties":{"caBundle":{"type":"string"}}}}}}}},
"AnyStatus":{"type":"object","x-kubernetes-preserve-unknown-fields":true,"properties":{"conditions":{"$ref":"Conditions"}}},
"ControllerRevision":{"type":"object","required":["data"],"properties":{
  "data":{"type":"object","x-kubernetes-preserve-unknown-fields":true,"x-kubernetes-map-type":"atomic"},
  "revision":{"type":"integer","format":"int64"}}},
"JobStatus":{"type":"object","x-kubernetes-preserve-unknown-fields":true,"properties":{
  "conditions":{"type":"array","items":{"$ref":"Condition"},"x-kubernetes-list-type":"atomic"}}},
"JobSetStatus":{"type":"object","properties":{
  "conditions":{"$ref":"Conditions"},"restarts":{"type":"integer","format":"int32"},
  "restartsCountTowardsMax":{"type":"integer","format":"int32"},"terminalState":{"type":"string"},
  "replicatedJobsStatus":{"type":"array","x-kubernetes-list-type":"map","x-kubernetes-list-map-keys":["name"],"items":{
    "type":"object","required":["name","ready","succeeded","failed","active","suspended"],"properties":{
      "name":{"type":"string"},"ready":{"type":"integer","format":"int32"},"succeeded":{"type":"integer","format":"int32"},
      "failed":{"type":"integer","format":"int32"},"active":{"type":"integer","format":"int32"},
      "suspended":{"type":"integer","format":"int32"}}}}}},
"PodGroup":{"type":"object","properties":{
  "spec":{"type":"object","x-kubernetes-preserve-unknown-fields":true,"properties":{
    "minMember":{"type":"integer","format":"int32"},"minResources":{"$ref":"Amounts"},
    "scheduleTimeoutSeconds":{"type":"integer","format":"int32"},"queue":{"type":"string"},"priorityClassName":{"type":"string"}}},
  "status":{"type":"object","x-kubernetes-preserve-unknown-fields":true}}},
"Lease":{"type":"object","properties":{
  "spec":{"type":"object","properties":{
    "acquireTime":{"type":"string"},"renewTime":{"type":"string"},"holderIdentity":{"type":"string"},
    "leaseDurationSeconds":{"type":"integer","format":"int32"},"leaseTransitions":{"type":"integer","format":"int32"},
    "preferredHolder":{"type":"string"},"strategy":{"type":"string"}}}}},
"PodStatus":{"type":"object","x-kubernetes-preserve-unknown-fields":true,"properties":{
  "phase":{"type":"string"},"reason":{"type":"string"},"message":{"type":"string"},"conditions":{"$ref":"Conditions"}}}
})json";

const schema::library& own_types() {
    static doc::arena memory;
    static const schema::library read = [] {
        const auto document = doc::parse_json(memory, types);
        if (!document) throw std::logic_error(document.error().message);
        auto library = schema::library::read(*document);
        if (!library) throw std::logic_error(library.error().message);
        return std::move(*library);
    }();
    return read;
}

void fill_namespace(doc::arena& memory, doc::editor& object) {
    (void)memory;
    const std::string name{object.get({"metadata", "name"}).as_string()};
    object.ensure_object({"metadata", "labels"}).set("kubernetes.io/metadata.name", name);
    if (!object.get({"spec", "finalizers"}))
        object.ensure_object("spec").ensure_array("finalizers").append("kubernetes");
    object.ensure_object("status").set_default("phase", "Active");
}

void fill_secret(doc::arena& memory, doc::editor& object) {
    (void)memory;
    object.set_default("type", "Opaque");
    const doc::ref plain = object.get("stringData");
    for (const doc::member& m : plain.members()) {
        object.ensure_object("data").set(m.key(), base::encode_base64(m.value.as_string()));
    }
    object.remove("stringData");
}

void fill_priority_class(doc::arena& memory, doc::editor& object) {
    (void)memory;
    object.set_default("preemptionPolicy", "PreemptLowerPriority");
}

bool alike(doc::ref a, doc::ref b) { return (a.empty() && b.empty()) || equal(a, b); }

// Of ConfigMaps and Secrets.
std::string refuse_frozen(doc::ref live, doc::ref wanted) {
    if (!live.get("immutable").as_bool(false)) return {};
    if (!wanted.get("immutable").as_bool(false))
        return "immutable: Forbidden: field is immutable when `immutable` is set";
    for (const char* name : {"data", "binaryData"}) {
        if (!alike(live.get(name), wanted.get(name)))
            return std::string{name} + ": Forbidden: field is immutable when `immutable` is set";
    }
    return {};
}

std::string refuse_secret(doc::ref live, doc::ref wanted) {
    if (!equal(live.get("type"), wanted.get("type"))) return "type: Invalid value: field is immutable";
    return refuse_frozen(live, wanted);
}

std::string count_data(doc::ref object, base::seconds_time) {
    return std::to_string(object.get("data").size() + object.get("binaryData").size());
}

std::string refuse_handler(doc::ref live, doc::ref wanted) {
    return equal(live.get("handler"), wanted.get("handler")) ? "" : "handler: Invalid value: field is immutable";
}

struct names {
    const char* stored;
    const char* shown;
};
constexpr std::array same_meaning{names{"regarding", "involvedObject"},
                                  names{"note", "message"},
                                  names{"reportingController", "reportingComponent"},
                                  names{"reportingInstance", "reportingInstance"},
                                  names{"reason", "reason"},
                                  names{"type", "type"},
                                  names{"action", "action"},
                                  names{"eventTime", "eventTime"},
                                  names{"series", "series"},
                                  names{"related", "related"},
                                  names{"deprecatedSource", "source"},
                                  names{"deprecatedFirstTimestamp", "firstTimestamp"},
                                  names{"deprecatedLastTimestamp", "lastTimestamp"},
                                  names{"deprecatedCount", "count"}};

doc::ref rename(doc::arena& memory, doc::ref from, bool to_core) {
    doc::editor out = doc::editor::object(memory);
    out.set("kind", "Event").set("apiVersion", to_core ? "v1" : "events.k8s.io/v1");
    if (const doc::ref metadata = from.get("metadata")) out.set("metadata", metadata);
    for (const names& each : same_meaning) {
        const doc::ref value = from.get(to_core ? each.stored : each.shown);
        if (value) out.set(to_core ? each.shown : each.stored, value);
    }
    return out;
}

doc::ref show_event(doc::arena& memory, doc::ref stored) { return rename(memory, stored, true); }
doc::ref read_event(doc::arena& memory, doc::ref shown) { return rename(memory, shown, false); }

std::string stored_field(std::string_view selected) {
    constexpr std::string_view object = "involvedObject.";
    if (selected.starts_with(object)) return "regarding." + std::string{selected.substr(object.size())};
    if (selected == "reportingComponent" || selected == "source") return "reportingController";
    return std::string{selected};
}

std::string last_seen(doc::ref event, base::seconds_time now) {
    for (const doc::ref each :
         {event.get({"series", "lastObservedTime"}), event.get("deprecatedLastTimestamp"), event.get("lastTimestamp"),
          event.get("eventTime"), event.get({"metadata", "creationTimestamp"})}) {
        if (const auto then = base::parse_time_seconds(each.as_string())) return short_duration(now - *then);
    }
    return "<unknown>";
}

std::string object_of(doc::ref event, base::seconds_time) {
    const doc::ref about = event.contains("regarding") ? event.get("regarding") : event.get("involvedObject");
    std::string kind_name{about.get("kind").as_string()};
    for (char& c : kind_name) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
    return fmt::format("{}/{}", kind_name, about.get("name").as_string());
}

std::vector<column> columns(const char* note) {
    return {{"Last Seen", "string", "", 0, "When it happened last", last_seen},
            {"Type", "string", ".type", 0, "Normal or Warning"},
            {"Reason", "string", ".reason", 0, "Why"},
            {"Object", "string", "", 0, "The object that the event is about", object_of},
            {"Message", "string", note, 0, "What happened"},
            {"Age", "date", ".metadata.creationTimestamp", 1, "Time since the object was created."}};
}

void set_user(doc::editor into, const caller& who) {
    into.set("username", who.name);
    doc::editor groups = into.ensure_array("groups");
    for (const std::string& each : who.groups) groups.append(each);
}

void answer_token(doc::editor& object, const caller&, const token_table& tokens) {
    const auto found = tokens.find(object.get({"spec", "token"}).as_string());
    doc::editor status = object.ensure_object("status");
    status.set("authenticated", found != tokens.end());
    if (found == tokens.end()) {
        status.set("error", "invalid bearer token");
        return;
    }
    set_user(status.ensure_object("user"), found->second);
    if (const doc::ref audiences = object.get({"spec", "audiences"})) status.set("audiences", audiences);
}

void answer_who(doc::editor& object, const caller& who, const token_table&) {
    set_user(object.ensure_object({"status", "userInfo"}), who);
}

// Nobody is refused anything but those whom the server does not know.
void answer_access(doc::editor& object, const caller& who, const token_table&) {
    const std::string_view user = object.get({"spec", "user"}).as_string(who.name);
    const bool known = user != "system:anonymous";
    doc::editor status = object.ensure_object("status");
    status.set("allowed", known);
    status.set("reason", known ? "this server allows everything" : "anonymous requests are not allowed");
}

void answer_rules(doc::editor& object, const caller&, const token_table&) {
    doc::editor status = object.ensure_object("status");
    status.set("incomplete", false);
    const auto everything = [&](doc::editor into, std::string_view name) { into.ensure_array(name).append("*"); };
    doc::editor resources = status.ensure_array("resourceRules").append_object();
    for (const char* each : {"verbs", "apiGroups", "resources"}) everything(resources, each);
    doc::editor paths = status.ensure_array("nonResourceRules").append_object();
    for (const char* each : {"verbs", "nonResourceURLs"}) everything(paths, each);
}

void fill_definition(doc::arena&, doc::editor& object) {
    const std::string_view made = object.get({"metadata", "creationTimestamp"}).as_string();
    doc::editor spec = object.ensure_object("spec");
    doc::editor names = spec.ensure_object("names");
    std::string name{names.get("kind").as_string()};
    names.set_default("listKind", name + "List");
    for (char& c : name) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
    names.set_default("singular", name);
    spec.ensure_object("conversion").set_default("strategy", "None");
    doc::editor status = object.ensure_object("status");
    status.set("acceptedNames", object.get({"spec", "names"}));
    doc::editor stored = doc::editor::array(object.memory());
    for (const doc::ref each : object.get({"spec", "versions"}).items()) {
        if (each.get("storage").as_bool(false)) stored.append(each.get("name"));
    }
    status.set("storedVersions", stored);
    doc::editor conditions = doc::editor::array(object.memory());
    for (const auto& [type, reason, message] :
         {std::tuple{"NamesAccepted", "NoConflicts", "no conflicts found"},
          std::tuple{"Established", "InitialNamesAccepted", "the initial names have been accepted"}}) {
        doc::editor out = conditions.append_object();
        out.set("type", type).set("status", "True").set("reason", reason).set("message", message);
        if (!made.empty()) out.set("lastTransitionTime", made);
    }
    status.set("conditions", conditions);
}

std::string count_hooks(doc::ref object, base::seconds_time) { return std::to_string(object.get("webhooks").size()); }

}  // namespace

schema::shared_node object_meta() { return own_types().find("ObjectMeta"); }
schema::shared_node own_type(std::string_view name) { return own_types().find(name); }

schema::shared_node free_body() {
    static const auto made =
        std::make_shared<const schema::node>(schema::node{.type = schema::value_type::object, .keeps_unknown = true});
    return made;
}

kind make_kind(kind_names names, schema::shared_node body) {
    kind out;
    out.group = names.group;
    out.version = names.version;
    out.plural = names.plural;
    out.singular = names.singular;
    out.name = names.name;
    out.list_name = out.name + "List";
    out.namespaced = names.namespaced;
    out.short_names = std::move(names.short_names);
    out.body = std::move(body);
    out.merged = with_object_meta(*out.body);
    return out;
}

std::vector<kind> built_in_kinds() {
    std::vector<kind> out;
    const auto add = [&](kind_names names) -> kind& {
        const schema::shared_node body = own_types().find(names.name);
        return out.emplace_back(make_kind(std::move(names), body));
    };
    kind& space = add({"", "v1", "namespaces", "namespace", "Namespace", false, {"ns"}});
    space.has_status = true;
    space.fill = fill_namespace;
    space.columns = {{"Status", "string", ".status.phase", 0, "The status of the namespace"}};
    kind& map = add({"", "v1", "configmaps", "configmap", "ConfigMap", true, {"cm"}});
    map.refuse = refuse_frozen;
    map.columns = {{"Data", "integer", "", 0, "How many keys it has", count_data}};
    kind& secret = add({"", "v1", "secrets", "secret", "Secret"});
    secret.fill = fill_secret;
    secret.refuse = refuse_secret;
    secret.columns = {{"Type", "string", ".type", 0, "Kind of secret"},
                      {"Data", "integer", "", 0, "How many keys it has", count_data}};
    secret.selectable = {"type"};
    add({"", "v1", "serviceaccounts", "serviceaccount", "ServiceAccount", true, {"sa"}});
    add({"", "v1", "limitranges", "limitrange", "LimitRange", true, {"limits"}}).made_by_update = true;
    kind& runtime = add({"node.k8s.io", "v1", "runtimeclasses", "runtimeclass", "RuntimeClass", false});
    runtime.refuse = refuse_handler;
    runtime.columns = {{"Handler", "string", ".handler", 0, "The CRI configuration"}};
    kind& priority =
        add({"scheduling.k8s.io", "v1", "priorityclasses", "priorityclass", "PriorityClass", false, {"pc"}});
    priority.fill = fill_priority_class;
    priority.has_generation = true;
    priority.columns = {{"Value", "integer", ".value", 0, "The priority"},
                        {"Global-Default", "boolean", ".globalDefault", 0, "Whether it is the default"}};
    kind& lease = add({"coordination.k8s.io", "v1", "leases", "lease", "Lease"});
    lease.made_by_update = true;
    lease.columns = {{"Holder", "string", ".spec.holderIdentity", 0, "Who holds the lease"}};
    add_workloads(out);
    add_more(out);
    add_events(out);
    add_reviews(out);
    add_extensions(out);
    add_permissions(out);
    return out;
}

void add_events(std::vector<kind>& to) {
    kind core = make_kind({"", "v1", "events", "event", "Event", true, {"ev"}}, own_type("Event"));
    core.columns = columns(".message");
    core.of_other = other_form{"events.k8s.io", "v1", "events", show_event, read_event, stored_field};
    to.push_back(std::move(core));
    kind event = make_kind({"events.k8s.io", "v1", "events", "event", "Event", true, {"ev"}}, own_type("Event"));
    event.columns = columns(".note");
    event.selectable = {"regarding.kind",
                        "regarding.namespace",
                        "regarding.name",
                        "regarding.uid",
                        "regarding.apiVersion",
                        "regarding.resourceVersion",
                        "regarding.fieldPath",
                        "reason",
                        "type",
                        "reportingController"};
    to.push_back(std::move(event));
}

void add_reviews(std::vector<kind>& to) {
    const auto add = [&](kind_names names, decltype(kind::answer) answer) {
        kind made = make_kind(std::move(names), free_body());
        made.answer = answer;
        to.push_back(std::move(made));
    };
    constexpr std::string_view who = "authentication.k8s.io";
    constexpr std::string_view may = "authorization.k8s.io";
    add({who, "v1", "tokenreviews", "tokenreview", "TokenReview", false}, answer_token);
    add({who, "v1", "selfsubjectreviews", "selfsubjectreview", "SelfSubjectReview", false}, answer_who);
    add({may, "v1", "subjectaccessreviews", "subjectaccessreview", "SubjectAccessReview", false}, answer_access);
    add({may, "v1", "selfsubjectaccessreviews", "selfsubjectaccessreview", "SelfSubjectAccessReview", false},
        answer_access);
    add({may, "v1", "localsubjectaccessreviews", "localsubjectaccessreview", "LocalSubjectAccessReview"},
        answer_access);
    add({may, "v1", "selfsubjectrulesreviews", "selfsubjectrulesreview", "SelfSubjectRulesReview", false},
        answer_rules);
}

void add_extensions(std::vector<kind>& to) {
    kind definition = make_kind({"apiextensions.k8s.io",
                                 "v1",
                                 "customresourcedefinitions",
                                 "customresourcedefinition",
                                 "CustomResourceDefinition",
                                 false,
                                 {"crd", "crds"}},
                                free_body());
    definition.has_status = definition.has_generation = true;
    definition.fill = fill_definition;
    definition.columns = {{"Created At", "string", ".metadata.creationTimestamp", 0, "When it was made"}};
    to.push_back(std::move(definition));
    for (const auto& [plural, singular, name] :
         {std::tuple{"mutatingwebhookconfigurations", "mutatingwebhookconfiguration", "MutatingWebhookConfiguration"},
          std::tuple{"validatingwebhookconfigurations", "validatingwebhookconfiguration",
                     "ValidatingWebhookConfiguration"}}) {
        kind hooks = make_kind({"admissionregistration.k8s.io", "v1", plural, singular, name, false},
                               own_type("WebhookConfiguration"));
        hooks.has_generation = true;
        hooks.columns = {{"Webhooks", "integer", "", 0, "How many it has", count_hooks}};
        to.push_back(std::move(hooks));
    }
}

}  // namespace cotrain::sim
