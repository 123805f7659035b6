// From what reconcilers want to the client's verbs.
#include "reconcile/write_gate.hpp"

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <string_view>
#include <utility>

#include "base/json_text.hpp"
#include "watch/cluster.hpp"

namespace cotrain::reconcile {

namespace {

kube::resource resource_of(const api::resource_type& t) { return {t.group, t.version, t.plural, t.kind, t.namespaced}; }

std::unexpected<base::error> closed() {
    return base::fail(base::make_error(base::errc::canceled, base::retry::later, "another replica leads"));
}

bool is_secret(const api::resource_type& t) { return t.kind == api::names::secret.kind && t.group.empty(); }

kube::call_options within(const write_permit& permit) { return {.deadline = permit.time, .latest = permit.latest}; }

base::result<std::string> body_of(base::result<kube::reply> answer) {
    if (!answer) return base::fail(std::move(answer.error()));
    return std::move(answer->body);
}

bool suspect(char c) { return static_cast<unsigned char>(c) >= 0x7F; }

// Eight bytes at a time: adding 1 to each sets the top bit of 0x7F, and only bytes that are suspect anyway carry over.
bool has_suspect(std::string_view text) {
    constexpr std::uint64_t ones = 0x0101010101010101;
    std::size_t i = 0;
    for (std::uint64_t word = 0; i + sizeof word <= text.size(); i += sizeof word) {
        std::memcpy(&word, text.data() + i, sizeof word);
        if (((word | (word + ones)) & ones << 7U) != 0) return true;
    }
    return std::ranges::any_of(text.substr(i), suspect);
}

// The code point of UTF-8 bytes, if YAML does not take it as it stands; its length in bytes.
struct foreign {
    unsigned code = 0;
    std::size_t bytes = 0;
};

foreign foreign_at(std::string_view text) {
    const auto byte = [&](std::size_t i) { return i < text.size() ? static_cast<unsigned char>(text[i]) : 0U; };
    if (byte(0) == 0x7F) return {0x7F, 1};
    if (byte(0) == 0xC2 && byte(1) >= 0x80 && byte(1) < 0xA0) return {byte(1), 2};
    const unsigned three = byte(0) << 16U | byte(1) << 8U | byte(2);
    if (three == 0xE280A8 || three == 0xE280A9) return {0x2000U + (byte(2) - 0x80U), 3};
    if (three == 0xEFBBBF) return {0xFEFF, 3};
    if (three == 0xEFBFBE || three == 0xEFBFBF) return {0xFFC0U + (byte(2) - 0x80U), 3};
    return {};
}

// One write, from its beginning to its answer or its end.
class write_mark {
   public:
    explicit write_mark(unsigned& all) : all_(all) { ++all_; }
    ~write_mark() { --all_; }
    write_mark(const write_mark&) = delete;
    write_mark& operator=(const write_mark&) = delete;

   private:
    unsigned& all_;
};

}  // namespace

std::string yaml_safe(std::string json) {
    if (!has_suspect(json)) return json;
    std::string out;
    out.reserve(json.size() + 64);
    for (std::size_t i = 0; i < json.size();) {
        const foreign f = suspect(json[i]) ? foreign_at(std::string_view(json).substr(i, 3)) : foreign{};
        if (f.bytes == 0) {
            out += json[i++];
            continue;
        }
        char text[8];
        std::snprintf(text, sizeof text, "\\u%04x", f.code);
        out += text;
        i += f.bytes;
    }
    return out;
}

// A new object is sent in a version that no object ever has: etcd's first write makes version 2. The API server
// compares it with what is there, and ignores it where nothing is. It keeps neither member as a field that we own.
std::string with_precondition(std::string json, std::string_view uid) {
    constexpr std::string_view metadata = R"("metadata":{)";
    const std::size_t at = json.find(metadata);
    if (at == std::string::npos) return {};
    std::string member = uid.empty() ? R"("resourceVersion":"1")" : R"("uid":)";
    if (!uid.empty()) base::append_json_string(member, uid);
    const std::size_t begin = at + metadata.size();
    if (json[begin] != '}') member += ',';
    json.insert(begin, member);
    return json;
}

bool is_another(const base::error& refusal) {
    constexpr int conflict = 409;
    constexpr int invalid = 422;
    return refusal.http_status == conflict ||
           (refusal.http_status == invalid && refusal.message.find("metadata.uid: Invalid") != std::string::npos);
}

awaitable<base::result<std::string>> write_gate::get(target at) {
    const kube::shape as = is_secret(*at.type) ? kube::shape::metadata : kube::shape::whole;
    co_return body_of(co_await api_.get(resource_of(*at.type), {.ns = at.ns, .name = at.name}, {.as = as}));
}

awaitable<base::result<std::string>> write_gate::get_whole(target at) {
    co_return body_of(co_await api_.get(resource_of(*at.type), {.ns = at.ns, .name = at.name}, {}));
}

// Lists only explain a job: they go behind the requests that make jobs run.
awaitable<base::result<std::string>> write_gate::list(list_page what) {
    constexpr std::chrono::seconds deadline{10};
    co_return body_of(co_await api_.list(resource_of(*what.type), what.ns,
                                         {.label_selector = what.label_selector,
                                          .field_selector = what.field_selector,
                                          .limit = what.items_max,
                                          .with = {.rank = net::priority::write, .deadline = deadline}}));
}

awaitable<base::result<std::string>> write_gate::apply(target at, std::string body, std::string uid) {
    const auto permit = may_write_();
    if (!permit) co_return closed();
    body = with_precondition(yaml_safe(std::move(body)), uid);
    if (body.empty()) co_return base::fail(base::errc::internal, "an object without metadata is not applied");
    const write_mark mark(under_way_);
    const bool force = !uid.empty();
    auto answer = co_await api_.apply(resource_of(*at.type), {.ns = at.ns, .name = at.name}, std::move(body), force,
                                      {.field_manager = at.manager, .with = within(*permit)});
    if (const auto of = watch::find_kind(*at.type)) {
        apply_counts& counts = counts_[static_cast<std::size_t>(*of)];
        ++(answer ? counts.applied : is_another(answer.error()) ? counts.conflict : counts.error);
    }
    co_return body_of(std::move(answer));
}

awaitable<base::result<std::string>> write_gate::merge_patch(target at, std::string sub_resource, std::string body) {
    const auto permit = may_write_();
    if (!permit) co_return closed();
    const write_mark mark(under_way_);
    co_return body_of(co_await api_.merge_patch(resource_of(*at.type), {.ns = at.ns, .name = at.name}, std::move(body),
                                                {.sub_resource = sub_resource, .with = within(*permit)}));
}

awaitable<base::result<>> write_gate::remove(target at, std::string uid, std::uint64_t version) {
    const auto permit = may_write_();
    if (!permit) co_return closed();
    const write_mark mark(under_way_);
    const std::string state = version == 0 ? std::string{} : std::to_string(version);
    auto answer = co_await api_.remove(
        resource_of(*at.type), {.ns = at.ns, .name = at.name},
        {.dependents = kube::propagation::background, .uid = uid, .resource_version = state, .with = within(*permit)});
    if (answer) co_return base::result<>{};
    // Gone, or another object by now (the uid does not match).
    const int status = answer.error().http_status;
    if (status == 404 || (status == 409 && version == 0)) co_return base::result<>{};
    co_return base::fail(std::move(answer.error()));
}

}  // namespace cotrain::reconcile
