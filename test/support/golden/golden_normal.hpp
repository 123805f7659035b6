// Objects in the form of the recordings: test/golden's keys replaced by what they are, texts of lines as lists.
#pragma once

#include <openssl/bio.h>
#include <openssl/evp.h>
#include <openssl/pem.h>

#include <algorithm>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "api/runtime.hpp"
#include "api/trainjob.hpp"
#include "doc/edit.hpp"
#include "doc/json.hpp"
#include "doc/yaml.hpp"
#include "support/golden/golden_case.hpp"

namespace cotrain::golden {

using doc::editor;
using doc::ref;

inline std::string from_base64(std::string_view text) {
    std::string out(text.size(), '\0');
    const int bytes =
        EVP_DecodeBlock(reinterpret_cast<unsigned char*>(out.data()),
                        reinterpret_cast<const unsigned char*>(text.data()), static_cast<int>(text.size()));
    out.resize(bytes < 0 ? 0 : static_cast<std::size_t>(bytes));
    for (std::size_t pad = text.size(); pad > 0 && text[pad - 1] == '=' && !out.empty(); --pad) out.pop_back();
    return out;
}

// What a pair of ssh keys is, in the words of the recordings.
inline std::pair<std::string, std::string> describe_keys(const std::string& pem, const std::string& line) {
    const std::unique_ptr<BIO, decltype([](BIO* b) { BIO_free(b); })> in(
        BIO_new_mem_buf(pem.data(), static_cast<int>(pem.size())));
    const std::unique_ptr<EVP_PKEY, decltype([](EVP_PKEY* k) { EVP_PKEY_free(k); })> key(
        PEM_read_bio_PrivateKey(in.get(), nullptr, nullptr, nullptr));
    char group[32] = {};
    unsigned char point[256];
    std::size_t bytes = 0;
    if (!key || EVP_PKEY_get_group_name(key.get(), group, sizeof group, nullptr) != 1 ||
        EVP_PKEY_get_octet_string_param(key.get(), "pub", point, sizeof point, &bytes) != 1) {
        return {"<no key>", "<no key>"};
    }
    const std::string form = pem.starts_with("-----BEGIN EC PRIVATE KEY-----\n") ? "EC PRIVATE KEY" : "?";
    const std::string curve = std::string_view(group) == "secp521r1" ? "P-521" : group;
    const auto rest = pem.size() - (pem.find("-----END EC PRIVATE KEY-----\n") + 29);
    std::string blob;
    if (line.starts_with("ecdsa-sha2-nistp521 ")) blob = from_base64(line.substr(20, line.find('\n') - 20));
    const bool match = blob.ends_with(std::string(reinterpret_cast<char*>(point), bytes));
    return {"<PEM " + form + ", " + curve + ", " + std::to_string(rest) + " bytes after it>",
            std::string("<ecdsa-sha2-nistp521, ") + (match ? "matches" : "does not match") +
                " the private key, 2 fields, " + (line.ends_with('\n') ? "newline at the end>" : "no newline>")};
}

class normaliser {
   public:
    normaliser(doc::arena& memory, const recorded_case& c) : memory_(memory), case_(c) {}

    ref object(ref document) {
        const auto kind = document.get("kind").as_string();
        editor out = editor::object(memory_);
        if (kind == "TrainJob") {
            train_job(document, out);
        } else if (kind.ends_with("TrainingRuntime")) {
            if (const ref f = document.get({"metadata", "finalizers"})) out.set("finalizers", f);
        } else {
            metadata(document.get("metadata"), out);
            child(document, kind, out);
        }
        return texts(out, {});
    }

    // A recorded object; times of patches are stamped by a webhook, which does not take part here.
    ref recorded(std::string_view key, ref object) {
        editor out = editor::of(memory_, texts(object, {}));
        editor patches = key.starts_with("TrainJob:") ? out.child("patches") : editor{};
        for (std::size_t i = 0; i < patches.size(); ++i) patches.child(i).remove("time");
        return out;
    }

    // Lists sorted where their order does not matter, texts of several lines as lists.
    ref texts(ref value, std::string_view key) {
        if (value.is_string() && value.text().contains('\n')) return lines(value.text());
        if (value.is_array()) {
            std::vector<std::pair<std::string, ref>> items;
            for (const ref item : value.items()) {
                const ref t = texts(item, {});
                std::string order;
                if (case_.unordered.contains(std::string(key))) doc::append_sorted_json(order, t);
                items.emplace_back(std::move(order), t);
            }
            std::ranges::stable_sort(items, {}, [](const auto& i) { return i.first; });
            editor out = editor::array(memory_);
            for (const auto& i : items) out.append(i.second);
            return out;
        }
        if (!value.is_object()) return value;
        editor out = editor::object(memory_);
        for (const auto& m : value.members()) out.set(m.key(), texts(m.value, m.key()));
        return out;
    }

   private:
    ref lines(std::string_view text) {
        editor list = editor::array(memory_);
        for (std::size_t end = 0; end != std::string_view::npos;
             text.remove_prefix(end == std::string_view::npos ? 0 : end + 1)) {
            end = text.find('\n');
            list.append(text.substr(0, end));
        }
        editor out = editor::object(memory_);
        out.set("<lines>", list);
        return out;
    }

    void metadata(ref from, editor out) {
        editor kept = out.ensure_object("metadata");
        for (const std::string_view key : {"labels", "annotations", "finalizers", "ownerReferences"}) {
            if (const ref v = from.get(key)) kept.set(key, v);
        }
    }

    void train_job(ref document, editor out) {
        if (const ref f = document.get({"metadata", "finalizers"})) out.set("finalizers", f);
        if (document.get({"metadata", "deletionTimestamp"})) out.set("deleting", true);
        editor defaults = out.ensure_object("defaults");
        for (const std::string_view key : {"suspend", "managedBy", "runtimeRef"}) {
            if (const ref v = document.get({"spec", key})) defaults.set(key, v);
        }
        if (const ref status = document.get("status"); status.is_object()) out.set("status", this->status(status));
        const ref patches = document.get({"spec", "runtimePatches"});
        for (const ref patch : patches.items()) {
            out.ensure_array("patches").append_object().set("manager", patch.get("manager"));
        }
    }

    ref status(ref from) {
        editor out = editor::of(memory_, doc::deep_copy(memory_, from));
        out.remove(api::names::snapshot_hash_member);  // difference 33: beside what the reference writes
        for (const std::string_view own : api::own_status_members) out.remove(own);  // difference 39
        editor conditions = out.child("conditions");
        for (std::size_t i = 0; i < conditions.size(); ++i) {
            editor c = conditions.child(i);
            if (!case_.text.contains(c.get("lastTransitionTime").as_string("?"))) c.remove("lastTransitionTime");
        }
        return out;
    }

    void child(ref document, std::string_view kind, editor out) {
        const auto name = document.get({"metadata", "name"}).as_string();
        if (kind == "ConfigMap") {
            for (const auto& m : document.get("data").members()) {
                editor data = out.ensure_object("data");
                if (name.ends_with("-runtime-snapshot")) {
                    data.set(m.key(), snapshot(m.value));
                } else if (name.ends_with("-flux-entrypoint")) {
                    data.set(m.key(), script(m.key(), std::string(m.value.as_string())));
                } else {
                    data.set(m.key(), m.value);
                }
            }
        } else if (kind == "Secret") {
            out.set("type", document.get("type").as_string("Opaque"));
            if (const ref v = document.get("immutable")) out.set("immutable", v);
            secret(document, out.ensure_object("data"));
        } else if (const ref spec = document.get("spec")) {
            out.set("spec", spec);
        }
    }

    ref snapshot(ref text) {
        const std::string_view kept = memory_.copy(text.as_string());
        const auto parsed = doc::parse_yaml(memory_, kept);
        if (!parsed || !parsed->is_object()) return text;
        editor out = editor::of(memory_, *parsed);
        if (editor meta = out.child("metadata")) {
            for (const auto key : {"uid", "resourceVersion", "generation", "creationTimestamp"}) meta.remove(key);
        }
        return out;
    }

    static std::string after(const std::string& text, std::string_view mark, std::string_view end) {
        const std::size_t at = text.find("\n" + std::string(mark));
        if (at == std::string::npos) return "<missing>";
        const std::size_t from = at + 1 + mark.size();
        return text.substr(from, text.find(end, from) - from);
    }

    ref script(std::string_view key, const std::string& text) {
        editor out = editor::object(memory_);
        editor with = out.ensure_object("<script with>");
        with.set("mainHost", after(text, "mainHost=\"", "\""));
        if (key == "entrypoint.sh") {
            const std::string encode = after(text, "flux R encode --hosts=", " >");
            with.set("resources", encode.substr(encode.find(' ') + 1));
            with.set("flags", after(text, "flags=\"", "\""));
            return out;
        }
        with.set("fluxroot", after(text, "fluxroot=", "\n")).set("hosts", after(text, "hosts=\"", "\""));
        const std::string config = after(text, "cat <<EOT > ${config}/etc/flux/config/broker.toml\n", "\nEOT\n");
        editor broker = with.ensure_array("broker");
        for (std::size_t at = 0; at <= config.size();) {
            const std::size_t end = std::min(config.find('\n', at), config.size());
            if (end != at) broker.append(config.substr(at, end - at));
            at = end + 1;
        }
        return out;
    }

    void secret(ref document, editor out) {
        const auto data = [&](std::string_view key) { return from_base64(document.get({"data", key}).as_string()); };
        if (document.get({"data", "ssh-privatekey"})) {
            const auto [key, line] = describe_keys(data("ssh-privatekey"), data("ssh-publickey"));
            out.set("ssh-privatekey", key).set("ssh-publickey", line);
            return;
        }
        for (const auto& m : document.get("data").members()) {
            std::string text = data(m.key());
            // Derived from the uid; flux_test checks the derivation.
            const auto blank = [&](std::string_view mark, std::string_view meaning) {
                const std::size_t at = text.find(mark);
                if (at != std::string::npos) text.replace(at + mark.size(), 40, meaning);
            };
            blank("public-key = \"", "<Z85 of the X25519 public key of secret-key>");
            blank("secret-key = \"", "<Z85 of sha256 of the owner's uid>");
            out.set(m.key(), text);
        }
    }

    doc::arena& memory_;
    const recorded_case& case_;
};

}  // namespace cotrain::golden
