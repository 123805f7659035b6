// Decoding of list metadata, discovery, version and reviews.
#include <charconv>
#include <glaze/json/read.hpp>

#include "kube/answer.hpp"
#include "kube/review.hpp"

namespace cotrain::kube::wire {

using text = std::optional<std::string>;
using texts = std::optional<std::vector<std::string>>;

struct list_meta {
    text resourceVersion;
    text continue_token;
    std::optional<std::int64_t> remainingItemCount;
};

struct object_meta {
    text uid;
    text resourceVersion;
};

template <class Meta>
struct headed {
    std::optional<Meta> metadata;
};

struct served {
    text name;
    text kind;
    std::optional<bool> namespaced;
    texts verbs;
};

struct served_list {
    text kind;
    std::optional<std::vector<served>> resources;
};

struct version {
    text major;
    text minor;
    text gitVersion;
};

struct access_status {
    std::optional<bool> allowed;
    text reason;
    text evaluationError;
};

struct user {
    text username;
    text uid;
    texts groups;
};

struct token_status {
    std::optional<bool> authenticated;
    std::optional<wire::user> user;
    texts audiences;
    text error;
};

template <class Status>
struct review {
    std::optional<Status> status;
};

}  // namespace cotrain::kube::wire

template <>
struct glz::meta<cotrain::kube::wire::list_meta> {
    using T = cotrain::kube::wire::list_meta;
    static constexpr auto value = glz::object("resourceVersion", &T::resourceVersion, "continue", &T::continue_token,
                                              "remainingItemCount", &T::remainingItemCount);
};

namespace cotrain::kube {

namespace {

constexpr glz::opts lenient{.null_terminated = false, .error_on_unknown_keys = false};
constexpr glz::opts head_only{.null_terminated = false, .error_on_unknown_keys = false, .partial_read = true};

template <auto Options, class T>
base::result<T> read(std::string_view what, std::string_view body) {
    T value{};
    glz::context context{};
    if (const auto fault = glz::read<Options>(value, body, context))
        return base::fail(base::errc::decode, std::string(what) + ": the answer is not the expected JSON: " +
                                                  base::one_line(body.substr(0, 256), 120));
    return value;
}

std::string take(wire::text& text) { return text ? std::move(*text) : std::string(); }
std::vector<std::string> take(wire::texts& texts) { return texts ? std::move(*texts) : std::vector<std::string>(); }

unsigned leading_number(std::string_view text) {
    unsigned number = 0;
    std::from_chars(text.data(), text.data() + text.size(), number);
    return number;
}

}  // namespace

base::result<list_head> read_list_head(std::string_view body) {
    auto wire = read<head_only, wire::headed<wire::list_meta>>("list", body);
    if (!wire) return base::fail(std::move(wire).error());
    if (!wire->metadata) return base::fail(base::errc::decode, "list: the answer has no metadata");
    wire::list_meta& meta = *wire->metadata;
    return list_head{take(meta.resourceVersion), take(meta.continue_token), meta.remainingItemCount.value_or(0)};
}

base::result<object_head> read_object_head(std::string_view body) {
    auto wire = read<head_only, wire::headed<wire::object_meta>>("object", body);
    if (!wire) return base::fail(std::move(wire).error());
    if (!wire->metadata) return base::fail(base::errc::decode, "object: the answer has no metadata");
    return object_head{take(wire->metadata->uid), take(wire->metadata->resourceVersion)};
}

base::result<std::vector<served_resource>> read_served_resources(std::string_view body) {
    auto wire = read<lenient, wire::served_list>("discovery", body);
    if (!wire) return base::fail(std::move(wire).error());
    if (wire->kind != "APIResourceList") return base::fail(base::errc::decode, "discovery: not an APIResourceList");
    std::vector<served_resource> found;
    if (!wire->resources) return found;
    if (wire->resources->size() > served_resources_max)
        return base::fail(base::errc::too_large, "discovery: more than 4096 resources in one group");
    found.reserve(wire->resources->size());
    for (wire::served& one : *wire->resources)
        found.push_back({take(one.name), take(one.kind), one.namespaced.value_or(false), take(one.verbs)});
    return found;
}

base::result<server_version> read_server_version(std::string_view body) {
    auto wire = read<lenient, wire::version>("version", body);
    if (!wire) return base::fail(std::move(wire).error());
    if (!wire->gitVersion) return base::fail(base::errc::decode, "version: the answer has no gitVersion");
    return server_version{leading_number(take(wire->major)), leading_number(take(wire->minor)), take(wire->gitVersion)};
}

base::result<access_answer> read_access_review(std::string_view body) {
    auto wire = read<lenient, wire::review<wire::access_status>>("access review", body);
    if (!wire) return base::fail(std::move(wire).error());
    if (!wire->status || !wire->status->allowed)
        return base::fail(base::errc::decode, "access review: the answer has no status.allowed");
    access_answer answer{*wire->status->allowed, take(wire->status->reason)};
    if (const std::string fault = take(wire->status->evaluationError); !fault.empty())
        answer.reason += (answer.reason.empty() ? "" : "; ") + fault;
    answer.reason = base::one_line(answer.reason, 512);
    return answer;
}

base::result<token_answer> read_token_review(std::string_view body) {
    auto wire = read<lenient, wire::review<wire::token_status>>("token review", body);
    if (!wire) return base::fail(std::move(wire).error());
    if (!wire->status) return base::fail(base::errc::decode, "token review: the answer has no status");
    wire::token_status& status = *wire->status;
    token_answer answer;
    answer.authenticated = status.authenticated.value_or(false);
    if (status.user) {
        answer.username = take(status.user->username);
        answer.uid = take(status.user->uid);
        answer.groups = take(status.user->groups);
    }
    answer.audiences = take(status.audiences);
    answer.fault = base::one_line(take(status.error), 512);
    return answer;
}

}  // namespace cotrain::kube
