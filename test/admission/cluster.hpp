// A webhook called with documents, and the objects of a cluster that it may ask for.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "admission/webhook.hpp"
#include "doc/edit.hpp"
#include "doc/json.hpp"
#include "doc/yaml.hpp"
#include "plugins/builtin.hpp"

namespace cotrain::admission {

// The answer as the API server reads it.
struct reply {
    bool allowed = false;
    std::int64_t code = 0;
    std::string uid;
    std::string reason;
    std::string message;
    std::string patch;  // JSON, decoded
    std::vector<std::string> warnings;
    std::vector<std::string> fields;  // of the causes
};

inline std::string from_base64(std::string_view text) {
    constexpr std::string_view alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    std::string out;
    unsigned bits = 0;
    unsigned held = 0;
    for (const char c : text) {
        if (c == '=') break;
        bits = bits << 6U | static_cast<unsigned>(alphabet.find(c));
        held += 6;
        if (held < 8) continue;
        held -= 8;
        out += static_cast<char>(bits >> held & 255U);
    }
    return out;
}

inline reply read_reply(const std::string& json) {
    doc::arena memory;
    const auto review = doc::parse_json(memory, json);
    if (!review) {
        ADD_FAILURE() << review.error().message << " in " << json;
        return {};
    }
    EXPECT_EQ(review->get("apiVersion").as_string(), "admission.k8s.io/v1");
    EXPECT_EQ(review->get("kind").as_string(), "AdmissionReview");
    const doc::ref response = review->get("response");
    const doc::ref status = response.get("status");
    reply out{.allowed = response.get("allowed").as_bool(false),
              .code = status.get("code").as_int(0),
              .uid = std::string(response.get("uid").as_string()),
              .reason = std::string(status.get("reason").as_string()),
              .message = std::string(status.get("message").as_string()),
              .patch = from_base64(response.get("patch").as_string()),
              .warnings = {},
              .fields = {}};
    for (const doc::ref w : response.get("warnings").items()) out.warnings.emplace_back(w.as_string());
    for (const doc::ref c : status.get({"details", "causes"}).items()) {
        out.fields.emplace_back(c.get("field").as_string());
    }
    EXPECT_EQ(response.contains("patchType"), response.contains("patch"));
    return out;
}

inline std::string review_json(doc::ref object, doc::ref before) {
    doc::arena memory;
    doc::editor review = doc::editor::object(memory);
    review.set("apiVersion", "admission.k8s.io/v1").set("kind", "AdmissionReview");
    doc::editor request = review.ensure_object("request");
    const std::string kind(object.get("kind").as_string());
    request.set("uid", "r-1").set("name", object.get({"metadata", "name"}));
    request.ensure_object("kind").set("group", "trainer.kubeflow.org").set("version", "v1alpha1").set("kind", kind);
    request.set("namespace", object.get({"metadata", "namespace"}).as_string());
    request.set("operation", std::string_view(before ? "UPDATE" : "CREATE")).set("object", object);
    if (before) request.set("oldObject", before);
    return doc::to_json(review);
}

// What the cluster has, by kind and name, and what it was asked for.
class cluster {
   public:
    void add(std::string_view yaml) {
        const auto parsed = doc::parse_yaml(memory, memory.copy(yaml));
        if (!parsed) throw std::runtime_error(parsed.error().message);
        put(*parsed);
    }
    void put(doc::ref document) {
        objects_[{std::string(document.get("kind").as_string()),
                  std::string(document.get({"metadata", "name"}).as_string())}] = document;
    }
    void remove(const std::string& kind, const std::string& name) { objects_.erase({kind, name}); }
    // It is there, but what is in it is not known.
    void know_of(const std::string& kind, const std::string& name) { known_.insert({kind, name}); }
    // Asked for this kind, the cluster refuses.
    void hide(const std::string& kind) { hidden_ = kind; }

    [[nodiscard]] answer find(const question& q) {
        asked.push_back(std::string(q.type->kind) + " " + q.name);
        asked_in.push_back(q.ns);
        if (q.type->kind == hidden_) return {.state = runtime::presence::unreadable, .why = "403 Forbidden"};
        if (known_.contains({std::string(q.type->kind), q.name})) return {.state = runtime::presence::exists};
        const auto found = objects_.find({std::string(q.type->kind), q.name});
        if (found == objects_.end()) return {};
        return {.state = runtime::presence::exists, .document = found->second};
    }

    reply send(hook h, const std::string& body) {
        call c(h, body, now, framework, open);
        asked.clear();
        while (const auto q = c.next()) c.tell(find(*q));
        return read_reply(c.finish());
    }
    reply create(hook h, doc::ref object) { return send(h, review_json(object, {})); }
    reply update(hook h, doc::ref object, doc::ref before) { return send(h, review_json(object, before)); }

    doc::ref load(std::string_view yaml) {
        const auto parsed = doc::parse_yaml(memory, memory.copy(yaml));
        if (!parsed) throw std::runtime_error(parsed.error().message);
        return *parsed;
    }

    doc::arena memory;
    plugins::builtin framework;
    gates open;
    base::seconds_time now = std::chrono::sys_days{std::chrono::year{2026} / 3 / 4} + std::chrono::hours{5};
    std::vector<std::string> asked;
    std::vector<std::string> asked_in;

   private:
    std::map<std::pair<std::string, std::string>, doc::ref> objects_;
    std::set<std::pair<std::string, std::string>> known_;
    std::string hidden_;
};

}  // namespace cotrain::admission
