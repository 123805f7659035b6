// Writing of the two reviews.
#include "kube/review.hpp"

#include <fmt/format.h>

#include "base/json_text.hpp"

namespace cotrain::kube {

namespace {

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
