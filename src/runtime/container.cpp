// Containers and volumes: upserts by the keys of the API.
#include "runtime/container.hpp"

#include <cstddef>
#include <map>

#include "api/quantity.hpp"

namespace cotrain::runtime {
namespace {

using api::editor;
using api::ref;

// Longer lists of entries to put in are not searched for one by one.
constexpr std::size_t searched_entries_max = 16;

ref plain_source(api::arena& memory, ref source) {
    editor out = editor::of(memory, source);
    if (editor field = out.child("fieldRef")) field.remove("apiVersion");
    if (editor resource = out.child("resourceFieldRef")) {
        resource.set_default("containerName", "");
        resource.set_default("divisor", "0");
        const ref divisor = resource.get("divisor");
        const auto normal = api::normal_quantity(divisor.text());  // what cannot be read is left to admission
        if (normal && (!divisor.is_string() || *normal != divisor.text())) resource.set("divisor", *normal);
    }
    for (const std::string_view key : {"configMapKeyRef", "secretKeyRef"}) {
        if (editor reference = out.child(key)) reference.set_default("name", "");
    }
    return out;
}

}  // namespace

ref plain_env_entry(api::arena& memory, ref entry) {
    editor out = editor::of(memory, entry);
    if (!out) return entry;
    const ref source = entry.get("valueFrom");
    if (source.is_object()) {
        out.remove("value");
        out.set("valueFrom", plain_source(memory, source));
    } else {
        out.remove("valueFrom");
        out.set_default("value", "");
    }
    return out;
}

ref container::env(std::string_view variable) const {
    return document_.get("env").find_by("name", variable).get("value");
}

void container::put_env(api::word variable, std::string_view value) {
    editor entry = editor::object(document_.memory());
    entry.set("name", variable).set("value", value);
    document_.ensure_array("env").upsert_by({"name"}, entry);
}

void container::put_env_default(api::word variable, std::string_view value) {
    if (!document_.get("env").find_by("name", variable.text())) put_env(variable, value);
}

void container::put_env_field(api::word variable, api::word field_path) {
    editor entry = editor::object(document_.memory());
    entry.set("name", variable).ensure_object({"valueFrom", "fieldRef"}).set("fieldPath", field_path);
    document_.ensure_array("env").upsert_by({"name"}, entry);
}

void container::put_env_list(ref entries) {
    if (entries.empty()) return;
    editor env = document_.ensure_array("env");
    if (entries.size() <= searched_entries_max) {
        for (const ref entry : entries.items()) env.upsert_by({"name"}, plain_env_entry(document_.memory(), entry));
        return;
    }
    std::map<std::string_view, std::size_t> places;
    for (std::size_t i = 0; i < env.size(); ++i) places.try_emplace(env.at(i).get("name").as_string(), i);
    for (const ref entry : entries.items()) {
        const ref plain = plain_env_entry(document_.memory(), entry);
        const auto [place, is_new] = places.try_emplace(plain.get("name").as_string(), env.size());
        if (is_new) {
            env.append(plain);
        } else {
            env.replace(place->second, plain);
        }
    }
}

void container::put_port(std::int32_t number) {
    editor port = editor::object(document_.memory());
    port.set("containerPort", number);
    document_.ensure_array("ports").upsert_by({"containerPort"}, port);
}

void container::put_mount(std::string_view volume, std::string_view path, bool read_only) {
    editor mount = editor::object(document_.memory());
    mount.set("name", volume).set("mountPath", path);
    if (read_only) mount.set("readOnly", true);
    document_.ensure_array("volumeMounts").upsert_by({"mountPath"}, mount);
}

void container::set_image(std::string_view image) { document_.set("image", image); }

void container::set_command(ref words) {
    if (words.empty()) {
        document_.remove("command");
    } else {
        document_.set("command", words);
    }
}

void container::set_args(ref words) {
    if (words.empty()) {
        document_.remove("args");
    } else {
        document_.set("args", words);
    }
}

void container::add_secret_env(std::string_view secret) {
    editor entry = editor::object(document_.memory());
    entry.ensure_object("secretRef").set("name", secret);
    document_.ensure_array("envFrom").append(entry);
}

void container::set_resources(ref resources) { document_.set("resources", resources); }

editor put_volume(editor pod_spec, std::string_view name, std::string_view source) {
    editor volume = editor::object(pod_spec.memory());
    volume.set("name", name);
    editor filled = volume.ensure_object(source);
    pod_spec.ensure_array("volumes").upsert_by({"name"}, volume);
    return filled;
}

}  // namespace cotrain::runtime
