#include "kube/answer.hpp"

#include <fmt/format.h>

#include <charconv>
#include <glaze/json/read.hpp>

#include "base/json_text.hpp"

namespace cotrain::kube::wire {

using texts = std::vector<std::string>;

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

struct access_status {
    std::optional<bool> allowed;
    std::string reason;
    std::string evaluationError;
};

struct user {
    std::string username;
    std::string uid;
    texts groups;
};

struct token_status {
    bool authenticated = false;
    wire::user user;
    texts audiences;
    std::string error;
};

template <class Status>
struct review {
    std::optional<Status> status;
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

template <class T, auto Rules = rules>
base::result<T> read(std::string_view what, std::string_view body) {
    T value{};
    if (const auto fault = glz::read<Rules>(value, body))
        return base::fail(base::errc::decode, std::string(what) + ": the answer is not the expected JSON: " +
                                                  base::one_line(body.substr(0, 256), 120));
    return value;
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
    auto wire = read<wire::review<wire::access_status>>("access review", body);
    if (!wire) return base::fail(std::move(wire).error());
    if (!wire->status || !wire->status->allowed)
        return base::fail(base::errc::decode, "access review: the answer has no status.allowed");
    access_answer answer{*wire->status->allowed, std::move(wire->status->reason)};
    if (const std::string& fault = wire->status->evaluationError; !fault.empty())
        answer.reason += (answer.reason.empty() ? "" : "; ") + fault;
    answer.reason = base::one_line(answer.reason, 512);
    return answer;
}

base::result<token_answer> read_token_review(std::string_view body) {
    auto wire = read<wire::review<wire::token_status>>("token review", body);
    if (!wire) return base::fail(std::move(wire).error());
    if (!wire->status) return base::fail(base::errc::decode, "token review: the answer has no status");
    wire::token_status& said = *wire->status;
    return token_answer{said.authenticated,          std::move(said.user.username), std::move(said.user.uid),
                        std::move(said.user.groups), std::move(said.audiences),     base::one_line(said.error, 512)};
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
