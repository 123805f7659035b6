// Editing the objects as they came, so that nothing of others is lost in an update.
#include "serve/certificate_objects.hpp"

#include "api/edit.hpp"
#include "api/json.hpp"
#include "kube/base64.hpp"

namespace cotrain::serve {

namespace {

struct key {
    std::string_view name;
    std::string certificate_set::* text;
};
constexpr key keys[] = {{"ca.crt", &certificate_set::ca_crt},
                        {"ca.key", &certificate_set::ca_key},
                        {"tls.crt", &certificate_set::tls_crt},
                        {"tls.key", &certificate_set::tls_key}};

// Of a field manager's name in a log line; the API server allows 128.
constexpr std::size_t manager_bytes_max = 128;

std::unexpected<base::error> unreadable(const base::error& why) {
    return base::fail(base::make_error(base::errc::decode, why.message));
}

}  // namespace

base::result<certificate_set> read_secret(std::string_view body) {
    api::arena memory;
    const auto document = api::parse_json(memory, body);
    if (!document) return unreadable(document.error());
    certificate_set out;
    for (const key& each : keys)
        out.*each.text = kube::decode_base64(document->get({"data", each.name}).as_string()).value_or(std::string());
    return out;
}

base::result<std::string> write_secret(std::string_view body, std::string_view ns, std::string_view name,
                                       const certificate_set& set) {
    api::arena memory;
    api::editor secret = api::editor::object(memory);
    if (body.empty()) {
        secret.set("apiVersion", "v1").set("kind", "Secret");
        secret.ensure_object("metadata").set("name", name).set("namespace", ns);
        secret.set("type", "Opaque");
    } else {
        const auto document = api::parse_json(memory, body);
        if (!document) return unreadable(document.error());
        secret = api::editor::of(memory, *document);
        if (!secret || secret.type() != api::kind::object)
            return base::fail(base::errc::decode, "the secret is no object");
        if (api::editor metadata = secret.child("metadata")) metadata.remove("managedFields");
    }
    api::editor data = secret.ensure_object("data");
    for (const key& each : keys) data.set(each.name, kube::encode_base64(set.*each.text));
    return api::to_json(secret);
}

std::string write_bundle(std::string_view ns, std::string_view name, std::string_view ca_pem) {
    api::arena memory;
    api::editor map = api::editor::object(memory);
    map.set("apiVersion", "v1").set("kind", "ConfigMap");
    map.ensure_object("metadata").set("name", name).set("namespace", ns);
    map.ensure_object("data").set("ca.crt", ca_pem);
    return api::to_json(map);
}

base::result<std::optional<std::string>> inject_authority(std::string_view body, std::string_view ca_pem) {
    api::arena memory;
    const auto document = api::parse_json(memory, body);
    if (!document) return unreadable(document.error());
    api::editor configuration = api::editor::of(memory, *document);
    if (!configuration || configuration.type() != api::kind::object)
        return base::fail(base::errc::decode, "the webhook configuration is no object");
    const std::string wanted = kube::encode_base64(ca_pem);
    bool changed = false;
    api::editor webhooks = configuration.child("webhooks");
    for (std::size_t i = 0; webhooks && i < webhooks.size(); ++i) {
        if (webhooks.at(i).get({"clientConfig", "caBundle"}).as_string() == wanted) continue;
        webhooks.child(i).ensure_object("clientConfig").set("caBundle", wanted);
        changed = true;
    }
    if (!changed) return std::nullopt;
    if (api::editor metadata = configuration.child("metadata")) metadata.remove("managedFields");
    return api::to_json(configuration);
}

std::string last_writer(std::string_view body, std::string_view member) {
    api::arena memory;
    const auto document = api::parse_json(memory, body);
    if (!document) return {};
    const std::string field = "f:" + std::string(member);
    std::string_view manager;
    std::string_view newest;  // RFC 3339 in UTC sorts as time
    for (const api::ref entry : document->get({"metadata", "managedFields"}).items()) {
        const std::string_view time = entry.get("time").as_string();
        if (!entry.get({"fieldsV1", field}) || time < newest) continue;
        newest = time;
        manager = entry.get("manager").as_string();
    }
    return base::one_line(manager, manager_bytes_max);
}

}  // namespace cotrain::serve
