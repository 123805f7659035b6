// Questions about tokens and access, and definitions that extend the server.
#include <utility>

#include "api/edit.hpp"
#include "sim/built_in.hpp"

namespace cotrain::sim {
namespace {

void set_user(api::editor into, const caller& who) {
    into.set("username", who.name);
    api::editor groups = into.ensure_array("groups");
    for (const std::string& each : who.groups) groups.append(each);
}

void answer_token(api::editor& object, const caller&, const token_table& tokens) {
    const auto found = tokens.find(object.get({"spec", "token"}).as_string());
    api::editor status = object.ensure_object("status");
    status.set("authenticated", found != tokens.end());
    if (found == tokens.end()) {
        status.set("error", "invalid bearer token");
        return;
    }
    set_user(status.ensure_object("user"), found->second);
    if (const api::ref audiences = object.get({"spec", "audiences"})) status.set("audiences", audiences);
}

void answer_who(api::editor& object, const caller& who, const token_table&) {
    set_user(object.ensure_object({"status", "userInfo"}), who);
}

// Nobody is refused anything but those whom the server does not know.
void answer_access(api::editor& object, const caller& who, const token_table&) {
    const std::string_view user = object.get({"spec", "user"}).as_string(who.name);
    const bool known = user != "system:anonymous";
    api::editor status = object.ensure_object("status");
    status.set("allowed", known);
    status.set("reason", known ? "this server allows everything" : "anonymous requests are not allowed");
}

void answer_rules(api::editor& object, const caller&, const token_table&) {
    api::editor status = object.ensure_object("status");
    status.set("incomplete", false);
    const auto everything = [&](api::editor into, std::string_view name) { into.ensure_array(name).append("*"); };
    api::editor resources = status.ensure_array("resourceRules").append_object();
    for (const char* each : {"verbs", "apiGroups", "resources"}) everything(resources, each);
    api::editor paths = status.ensure_array("nonResourceRules").append_object();
    for (const char* each : {"verbs", "nonResourceURLs"}) everything(paths, each);
}

void fill_definition(api::arena&, api::editor& object) {
    api::editor status = object.ensure_object("status");
    status.set("acceptedNames", object.get({"spec", "names"}));
    status.ensure_array("storedVersions");
    api::editor conditions = api::editor::array(object.memory());
    for (const char* type : {"NamesAccepted", "Established"}) {
        conditions.append_object().set("type", type).set("status", "True").set("reason", "Accepted");
    }
    status.set("conditions", conditions);
}

std::string count_hooks(api::ref object, api::seconds_time) { return std::to_string(object.get("webhooks").size()); }

}  // namespace

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
