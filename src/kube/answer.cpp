#include "kube/answer.hpp"

#include <fmt/format.h>

#include <charconv>
#include <glaze/json/read.hpp>

#include "base/json_text.hpp"
#include "doc/json.hpp"

namespace cotrain::kube::wire {

struct headed {
    std::optional<list_head> metadata;
};

struct served_list {
    std::string kind;
    std::vector<served_resource> resources;
};

struct version {
    std::string major;
    std::string minor;
    std::string gitVersion;
};

}  // namespace cotrain::kube::wire

template <>
struct glz::meta<cotrain::kube::list_head> {
    using T = cotrain::kube::list_head;
    static constexpr auto value = glz::object("resourceVersion", &T::resource_version, "continue", &T::continue_token,
                                              "remainingItemCount", &T::remaining);
};

namespace cotrain::kube {

namespace {

constexpr base::strict_json<glz::opts> rules{};
// What follows the head is not looked at.
constexpr auto head_only = [] {
    auto all = rules;
    all.partial_read = true;
    return all;
}();

std::unexpected<base::error> unreadable(std::string_view what, std::string_view body) {
    return base::fail(base::errc::decode, std::string(what) + ": the answer is not the expected JSON: " +
                                              base::one_line(body.substr(0, 256), 120));
}

template <class T, auto Rules = rules>
base::result<T> read(std::string_view what, std::string_view body) {
    T value{};
    if (const auto fault = glz::read<Rules>(value, body)) return unreadable(what, body);
    return value;
}

// Of a review. They are rare, and a reader made for each would be nine kilobytes of the program.
base::result<doc::ref> read_status(doc::arena& memory, std::string_view what, std::string_view body) {
    const auto answer = doc::parse_json(memory, body);
    if (!answer) return unreadable(what, body);
    const doc::ref status = answer->get("status");
    if (!status.is_object()) return base::fail(base::errc::decode, std::string(what) + ": the answer has no status");
    return status;
}

std::vector<std::string> texts_of(doc::ref list) {
    std::vector<std::string> out;
    for (const doc::ref each : list.items()) out.emplace_back(each.as_string());
    return out;
}

unsigned leading_number(std::string_view text) {
    unsigned number = 0;
    std::from_chars(text.data(), text.data() + text.size(), number);
    return number;
}

call post(std::string path, std::string body, const call_options& with) {
    call made;
    made.http.method = "POST";
    made.http.path = std::move(path);
    made.http.headers = {{"accept", "application/json"}, {"content-type", "application/json"}};
    made.http.body = std::move(body);
    made.http.rank = with.rank.value_or(net::priority::read);
    made.http.idempotent = true;
    made.http.deadline = with.deadline;
    return made;
}

// Appends "key":"value" members, comma separated; empty values are left out.
class member_writer {
   public:
    explicit member_writer(std::string& out) : out_(out) {}
    void add(std::string_view key, std::string_view value) {
        if (value.empty()) return;
        if (!first_) out_ += ',';
        first_ = false;
        base::append_json_string(out_, key);
        out_ += ':';
        base::append_json_string(out_, value);
    }

   private:
    std::string& out_;
    bool first_ = true;
};

}  // namespace

base::result<list_head> read_list_head(std::string_view body) {
    auto wire = read<wire::headed, head_only>("list", body);
    if (!wire) return base::fail(std::move(wire).error());
    if (!wire->metadata) return base::fail(base::errc::decode, "list: the answer has no metadata");
    return std::move(*wire->metadata);
}

base::result<std::vector<served_resource>> read_served_resources(std::string_view body) {
    auto wire = read<wire::served_list>("discovery", body);
    if (!wire) return base::fail(std::move(wire).error());
    if (wire->kind != "APIResourceList") return base::fail(base::errc::decode, "discovery: not an APIResourceList");
    if (wire->resources.size() > served_resources_max)
        return base::fail(base::errc::too_large, "discovery: more than 4096 resources in one group");
    return std::move(wire->resources);
}

base::result<server_version> read_server_version(std::string_view body) {
    auto wire = read<wire::version>("version", body);
    if (!wire) return base::fail(std::move(wire).error());
    if (wire->gitVersion.empty()) return base::fail(base::errc::decode, "version: the answer has no gitVersion");
    return server_version{leading_number(wire->major), leading_number(wire->minor), std::move(wire->gitVersion)};
}

base::result<access_answer> read_access_review(std::string_view body) {
    doc::arena memory;
    const auto status = read_status(memory, "access review", body);
    if (!status) return base::fail(status.error());
    const auto allowed = status->get("allowed").as_bool();
    if (!allowed) return base::fail(base::errc::decode, "access review: the answer has no status.allowed");
    access_answer answer{*allowed, std::string(status->get("reason").as_string())};
    if (const std::string_view fault = status->get("evaluationError").as_string(); !fault.empty())
        answer.reason.append(answer.reason.empty() ? "" : "; ").append(fault);
    answer.reason = base::one_line(answer.reason, 512);
    return answer;
}

base::result<token_answer> read_token_review(std::string_view body) {
    doc::arena memory;
    const auto status = read_status(memory, "token review", body);
    if (!status) return base::fail(status.error());
    const doc::ref user = status->get("user");
    return token_answer{
        status->get("authenticated").as_bool(false), std::string(user.get("username").as_string()),
        std::string(user.get("uid").as_string()),    texts_of(user.get("groups")),
        texts_of(status->get("audiences")),          base::one_line(status->get("error").as_string(), 512)};
}

call build_access_review(const access_question& question, const call_options& with) {
    std::string body =
        R"({"kind":"SelfSubjectAccessReview","apiVersion":"authorization.k8s.io/v1","spec":{"resourceAttributes":{)";
    member_writer members(body);
    members.add("namespace", question.ns);
    members.add("verb", question.verb);
    members.add("group", question.group);
    members.add("resource", question.plural);
    members.add("subresource", question.sub_resource);
    members.add("name", question.name);
    body += "}}}";
    call made = post("/apis/authorization.k8s.io/v1/selfsubjectaccessreviews", std::move(body), with);
    made.attempt = fmt::format("ask whether we may {} {}", question.verb, question.plural);
    return made;
}

call build_token_review(std::string_view token, const std::vector<std::string>& audiences, const call_options& with) {
    std::string body = R"({"kind":"TokenReview","apiVersion":"authentication.k8s.io/v1","spec":{"token":)";
    base::append_json_string(body, token);
    if (!audiences.empty()) {
        body += R"(,"audiences":[)";
        for (const std::string& audience : audiences) {
            if (body.back() != '[') body += ',';
            base::append_json_string(body, audience);
        }
        body += ']';
    }
    body += "}}";
    call made = post("/apis/authentication.k8s.io/v1/tokenreviews", std::move(body), with);
    made.attempt = "review a token";
    return made;
}

}  // namespace cotrain::kube
