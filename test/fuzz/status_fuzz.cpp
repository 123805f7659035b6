// Any bytes as what an API server, a proxy before it or a plugin answers: errors stay one short line, bounds hold.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

#include "kube/answer.hpp"
#include "kube/auth/exec_credential.hpp"
#include "kube/config.hpp"
#include "kube/status.hpp"
#include "kube/watch_stream.hpp"

namespace {

using namespace cotrain;
using namespace cotrain::kube;

void demand(bool holds) {
    if (!holds) std::abort();
}

void demand_one_line(const base::error& e) {
    demand(!e.message.empty() && e.message.size() < status_message_bytes_max + 200 && header_text(e.message));
}

template <class T>
void check(const base::result<T>& read) {
    if (!read) demand_one_line(read.error());
}

void check_status(std::string_view body, int code) {
    const net::header_list headers{{"retry-after", std::string(body.substr(0, 8))}};
    for (const auto& shown : {headers, net::header_list{}}) {
        const base::error e = status_error("get X a/b", code, shown, body);
        demand_one_line(e);
        demand(e.message.starts_with("get X a/b: ") && e.http_status == code && e.reason.size() <= 64);
        demand(!e.retry_after || e.retry_after->count() >= 0);
    }
    const auto said = read_status(body);
    if (!said) return demand_one_line(said.error());
    demand(said->causes.size() <= status_causes_max);
    demand_one_line(status_error("watch X", *said));
}

void check_answers(std::string_view body) {
    check(read_list_head(body));
    check(read_served_resources(body));
    check(read_server_version(body));
    check(read_access_review(body));
    check(read_token_review(body));
    const auto said = auth::read_exec_credential(body, "client.authentication.k8s.io/v1");
    if (!said) return demand_one_line(said.error());
    demand(visible_ascii(said->token) && said->certificate_pem.empty() == said->key_pem.empty());
    demand(!said->token.empty() || !said->key_pem.empty());
}

void check_warnings(std::string_view body) {
    const auto found = read_warnings({{"warning", std::string(body)}, {"warning", std::string(body)}});
    demand(found.size() <= warnings_of_one_answer_max);
    for (const std::string& text : found) demand(text.size() <= warning_bytes_max && header_text(text));
}

std::vector<std::string> lines_of(std::string_view bytes, std::size_t piece, bool& broken) {
    line_splitter splitter(1000);
    std::vector<std::string> lines;
    for (std::size_t i = 0; i < bytes.size(); i += piece) {
        const std::string chunk(bytes.substr(i, piece));
        splitter.feed(chunk);
        for (auto line = splitter.next();; line = splitter.next()) {
            if (!line) {
                broken = true;
                return lines;
            }
            if (!*line) break;
            demand(!(*line)->empty() && (*line)->size() <= 1000);
            lines.emplace_back(**line);
        }
        demand(splitter.pending() <= 1000);
    }
    return lines;
}

void check_lines(std::string_view bytes, std::size_t piece) {
    bool whole_broken = false;
    bool cut_broken = false;
    const auto whole = lines_of(bytes, bytes.size() + 1, whole_broken);
    const auto cut = lines_of(bytes, piece, cut_broken);
    demand(whole == cut && whole_broken == cut_broken);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    if (size < 1) return 0;
    // A copy of exactly this size, so that a byte too far is seen.
    const std::vector<char> copy(data + 1, data + size);
    const std::string_view body(copy.data(), copy.size());
    check_status(body, 300 + data[0] * 2);
    check_answers(body);
    check_warnings(body);
    check_lines(body, data[0] % 40 + 1U);
    return 0;
}
