// Packing of bodies and the prints of what goes into them.
#include "watch/object_body.hpp"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <new>

namespace cotrain::watch {

namespace {

template <class T>
std::uint64_t add(std::uint64_t hash, T value) {
    const auto number = static_cast<std::uint64_t>(value);
    return hash_bytes({reinterpret_cast<const char*>(&number), sizeof number}, hash);
}

std::uint64_t counts_print(const status_lists& lists) {
    std::uint64_t hash = 1;
    for (const job_counts_view& job : lists.jobs) {
        const std::int32_t numbers[] = {job.ready, job.succeeded, job.failed, job.active, job.suspended};
        hash = hash_bytes(job.name.raw, hash);
        hash = hash_bytes({reinterpret_cast<const char*>(numbers), sizeof numbers}, hash);
    }
    return hash;
}

}  // namespace

prints prints_of(const projection& p) {
    prints out;
    for (const std::string_view part : {p.owner_name, p.owner_uid, p.group, p.spec, p.extra, p.managed_by})
        out.spec = hash_bytes(part, out.spec);
    out.spec = add(out.spec, p.deadline_seconds);
    out.spec = add(out.spec, p.ttl_seconds);
    out.spec = add(out.spec, (p.suspend ? 1 : 0) | (p.deleting ? 2 : 0));
    if (p.status == nullptr) return out;
    out.counts = counts_print(*p.status);
    out.status = hash_bytes(p.terminal_state, out.counts);
    out.status = hash_bytes(p.snapshot_hash, out.status);
    for (const condition_view& c : p.status->conditions) {
        for (const json_text& part : {c.type, c.reason, c.message, c.last_transition_time})
            out.status = hash_bytes(part.raw, out.status);
        out.status = add(out.status, c.status);
    }
    return out;
}

std::uint32_t time_seconds(std::string_view text) {
    using namespace std::chrono;
    if (text.size() != 20 || text[19] != 'Z') return 0;
    const auto number = [&](std::size_t at, std::size_t digits) {
        unsigned n = 0;
        for (std::size_t i = at; i < at + digits; ++i) {
            if (text[i] < '0' || text[i] > '9') return 100U;  // above all that may stand here
            n = n * 10 + static_cast<unsigned>(text[i] - '0');
        }
        return n;
    };
    const unsigned year_number = number(0, 4);
    const unsigned month_number = number(5, 2);
    const unsigned day_number = number(8, 2);
    const unsigned hour = number(11, 2);
    const unsigned minute = number(14, 2);
    const unsigned second = number(17, 2);
    if (year_number < 1970 || month_number > 12 || day_number > 31 || hour > 23 || minute > 59 || second > 60) return 0;
    const year_month_day date{year(static_cast<int>(year_number)), month(month_number), day(day_number)};
    if (!date.ok()) return 0;
    const auto t = sys_days(date).time_since_epoch() + hours(hour) + minutes(minute) + seconds(second);
    return static_cast<std::uint32_t>(std::clamp<std::int64_t>(duration_cast<seconds>(t).count(), 0, 0xFFFFFFFFLL));
}

void object_body::release::operator()(object_body* body) const { ::operator delete(body); }

object_body::pointer object_body::make(text_table& texts, const projection& p) {
    static const status_lists none;
    const status_lists& status = p.status == nullptr ? none : *p.status;
    std::string scratch;
    std::string messages;
    std::vector<stored_condition> conditions;
    conditions.reserve(status.conditions.size());
    for (const condition_view& c : status.conditions) {
        stored_condition kept;
        kept.type = texts.intern(c.type.value(scratch));
        kept.reason = texts.intern(c.reason.value(scratch));
        const std::string_view message = c.message.value(scratch);
        kept.message_at = static_cast<std::uint32_t>(messages.size());
        kept.message_bytes = static_cast<std::uint32_t>(message.size());
        messages.append(message);
        kept.last_transition = time_seconds(c.last_transition_time.raw);
        kept.status = c.status;
        conditions.push_back(kept);
    }
    const std::string_view spec = p.spec_left_out ? std::string_view{} : p.spec;
    const std::string_view extra = p.spec_left_out ? std::string_view{} : p.extra;
    const std::size_t lists = conditions.size() * sizeof(stored_condition) + status.jobs.size() * sizeof(stored_counts);
    const std::size_t whole =
        sizeof(object_body) + lists + spec.size() + extra.size() + messages.size() + p.snapshot_hash.size();
    pointer body(::new (::operator new(whole)) object_body());
    body->generation = p.generation;
    body->deadline_seconds = p.deadline_seconds;
    body->ttl_seconds = p.ttl_seconds;
    body->terminal_state = texts.intern(p.terminal_state);
    body->spec_left_out = p.spec_left_out;
    body->spec_bytes_ = static_cast<std::uint32_t>(spec.size());
    body->extra_bytes_ = static_cast<std::uint32_t>(extra.size());
    body->message_bytes_ = static_cast<std::uint32_t>(messages.size());
    body->hash_bytes_ = static_cast<std::uint32_t>(p.snapshot_hash.size());
    body->conditions_ = static_cast<std::uint16_t>(conditions.size());
    body->counts_ = static_cast<std::uint16_t>(status.jobs.size());

    char* out = const_cast<char*>(body->tail());
    for (const stored_condition& c : conditions) {
        ::new (out) stored_condition(c);
        out += sizeof c;
    }
    for (const job_counts_view& job : status.jobs) {
        ::new (out) stored_counts{
            texts.intern(job.name.value(scratch)), job.ready, job.succeeded, job.failed, job.active, job.suspended};
        out += sizeof(stored_counts);
    }
    for (const std::string_view part : {spec, extra, std::string_view(messages), p.snapshot_hash}) {
        std::copy(part.begin(), part.end(), out);
        out += part.size();
    }
    return body;
}

void object_body::drop(text_table& texts) const {
    for (const stored_condition& c : conditions()) {
        texts.release(c.type);
        texts.release(c.reason);
    }
    for (const stored_counts& c : counts()) texts.release(c.name);
    texts.release(terminal_state);
}

std::span<const stored_condition> object_body::conditions() const {
    return {reinterpret_cast<const stored_condition*>(tail()), conditions_};
}

std::span<const stored_counts> object_body::counts() const {
    return {reinterpret_cast<const stored_counts*>(tail() + conditions_ * sizeof(stored_condition)), counts_};
}

const char* object_body::text() const {
    return tail() + conditions_ * sizeof(stored_condition) + counts_ * sizeof(stored_counts);
}

std::string_view object_body::spec() const { return {text(), spec_bytes_}; }

std::string_view object_body::extra() const { return {text() + spec_bytes_, extra_bytes_}; }

std::string_view object_body::message(const stored_condition& c) const {
    return {text() + spec_bytes_ + extra_bytes_ + c.message_at, c.message_bytes};
}

std::string_view object_body::snapshot_hash() const {
    return {text() + spec_bytes_ + extra_bytes_ + message_bytes_, hash_bytes_};
}

std::size_t object_body::bytes() const {
    return static_cast<std::size_t>(text() - reinterpret_cast<const char*>(this)) + spec_bytes_ + extra_bytes_ +
           message_bytes_ + hash_bytes_;
}

}  // namespace cotrain::watch
