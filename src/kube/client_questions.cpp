// Verbs that ask the server about itself and about rights: discovery, version, reviews.
#include <algorithm>
#include <utility>

#include "kube/client.hpp"

namespace cotrain::kube {

namespace {

// What `read` makes of the answer, with the attempt before its error.
template <class T>
base::result<T> read_reply(base::result<reply> got, std::string_view attempt,
                           base::result<T> (*read)(std::string_view body)) {
    if (!got) return base::fail(std::move(got).error());
    auto value = read(got->body);
    if (!value) return base::fail(std::move(value).error().during(attempt));
    return value;
}

}  // namespace

awaitable<base::result<std::vector<served_resource>>> client::ask_served(call what) {
    const std::string attempt = what.attempt;
    auto got = co_await run(std::move(what));
    // An unknown group or version is a plain 404 page, without a Status.
    if (!got && got.error().http_status == 404) co_return std::vector<served_resource>{};
    co_return read_reply(std::move(got), attempt, &read_served_resources);
}

awaitable<base::result<bool>> client::ask_exists(call what, std::string plural) {
    auto served = co_await ask_served(std::move(what));
    if (!served) co_return base::fail(std::move(served).error());
    co_return std::ranges::find(*served, plural, &served_resource::name) != served->end();
}

awaitable<base::result<server_version>> client::ask_version(call what) {
    const std::string attempt = what.attempt;
    co_return read_reply(co_await run(std::move(what)), attempt, &read_server_version);
}

awaitable<base::result<access_answer>> client::ask_access(call what) {
    const std::string attempt = what.attempt;
    co_return read_reply(co_await run(std::move(what)), attempt, &read_access_review);
}

awaitable<base::result<token_answer>> client::ask_token(call what) {
    const std::string attempt = what.attempt;
    co_return read_reply(co_await run(std::move(what)), attempt, &read_token_review);
}

awaitable<base::result<bool>> client::exists(const resource& of, const call_options& with) {
    return ask_exists(build_discovery(of.group, of.version, with), std::string(of.plural));
}

awaitable<base::result<std::vector<served_resource>>> client::discover(std::string_view group, std::string_view version,
                                                                       const call_options& with) {
    return ask_served(build_discovery(group, version, with));
}

awaitable<base::result<server_version>> client::version(const call_options& with) {
    return ask_version(build_server_version(with));
}

awaitable<base::result<access_answer>> client::may_we(const access_question& question, const call_options& with) {
    return ask_access(build_access_review(question, with));
}

awaitable<base::result<token_answer>> client::review_token(std::string_view token,
                                                           const std::vector<std::string>& audiences,
                                                           const call_options& with) {
    return ask_token(build_token_review(token, audiences, with));
}

}  // namespace cotrain::kube
