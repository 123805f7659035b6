#include "watch/object_store.hpp"

#include <algorithm>
#include <charconv>
#include <cstring>
#include <new>

#include "api/trainjob.hpp"
#include "base/error.hpp"
#include "base/time.hpp"

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

std::uint64_t add_told(std::uint64_t hash, const train_job_status_view& told) {
    for (const std::string_view part :
         {told.state.raw, told.message.raw, told.start_time.raw, static_cast<std::string_view>(told.failures)})
        hash = hash_bytes(part, hash);
    const node_counts_view nodes = told.nodes.value_or(node_counts_view{-1, -1});
    const std::int32_t numbers[] = {told.restarts, nodes.desired, nodes.ready};
    return hash_bytes({reinterpret_cast<const char*>(numbers), sizeof numbers}, hash);
}

stored_told make_told(text_table& texts, const projection& p) {
    stored_told out;
    if (p.told == nullptr) {
        out.restarts = static_cast<std::uint32_t>(p.restarts);
        if (p.nodes > 0) out.nodes = static_cast<std::uint32_t>(p.nodes);
        return out;
    }
    std::string scratch;
    const train_job_status_view& told = *p.told;
    if (told.state.empty()) out = p.erased;
    out.message = texts.intern(told.message.value(scratch));
    if (!told.start_time.empty()) out.start = time_seconds(told.start_time.raw);
    if (told.restarts >= 0) out.restarts = static_cast<std::uint32_t>(told.restarts);
    if (!told.nodes) return out;
    out.nodes = static_cast<std::uint32_t>(std::max(told.nodes->desired, 0));
    out.nodes_ready = static_cast<std::uint32_t>(std::max(told.nodes->ready, 0));
    return out;
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
    out.status = add(out.status, (static_cast<std::uint64_t>(p.nodes) << 32U) | static_cast<std::uint32_t>(p.restarts));
    if (p.told != nullptr) out.status = add_told(out.status, *p.told);
    for (const condition_view& c : p.status->conditions) {
        for (const json_text& part : {c.type, c.reason, c.message, c.last_transition_time})
            out.status = hash_bytes(part.raw, out.status);
        out.status = add(out.status, c.status);
    }
    return out;
}

std::uint32_t time_seconds(std::string_view text) {
    const auto t = base::parse_time_seconds(text);
    return t ? static_cast<std::uint32_t>(std::clamp<std::int64_t>(t->time_since_epoch().count(), 0, 0xFFFFFFFFLL)) : 0;
}

void object_body::release::operator()(object_body* body) const { ::operator delete(body); }

object_body::pointer object_body::make(text_table& texts, const projection& p, bool keeps_spec) {
    static const status_lists none;
    const status_lists& status = p.status == nullptr ? none : *p.status;
    const bool left_out = p.spec_left_out || !keeps_spec;
    const std::string_view spec = left_out ? std::string_view{} : p.spec;
    const std::string_view extra = left_out ? std::string_view{} : p.extra;
    std::string_view failures = p.failures;
    if (p.complete || p.failed || failures.size() > failures_kept_bytes_max) failures = {};
    const std::size_t lists =
        status.conditions.size() * sizeof(stored_condition) + status.jobs.size() * sizeof(stored_counts);
    const std::size_t whole =
        sizeof(object_body) + lists + spec.size() + extra.size() + failures.size() + p.snapshot_hash.size();
    pointer body(::new (::operator new(whole)) object_body());
    // Without memory it gives back the texts that it has so far.
    struct unless_whole {
        text_table& texts;
        const object_body* body;
        ~unless_whole() {
            if (body != nullptr) body->drop(texts);
        }
    } undo{texts, body.get()};
    body->generation = static_cast<std::uint32_t>(p.generation);
    body->deadline_seconds = static_cast<std::uint32_t>(std::clamp<std::int64_t>(p.deadline_seconds, 0, 0xFFFFFFFFLL));
    body->ttl_seconds = static_cast<std::int32_t>(std::clamp<std::int64_t>(p.ttl_seconds, -1, 0x7FFFFFFF));
    body->told = make_told(texts, p);
    if (p.told != nullptr) body->state = static_cast<std::uint8_t>(api::job_state_of(p.told->state.raw));
    body->terminal_state = texts.intern(p.terminal_state);
    body->queue = texts.intern(p.queue);
    body->spec_left_out = left_out;
    body->spec_bytes_ = static_cast<std::uint32_t>(spec.size());
    body->extra_bytes_ = static_cast<std::uint32_t>(extra.size());
    body->failures_bytes_ = static_cast<std::uint16_t>(failures.size());
    body->hash_bytes_ = static_cast<std::uint8_t>(p.snapshot_hash.size());

    std::string scratch;
    char* out = const_cast<char*>(body->tail());
    for (const condition_view& c : status.conditions) {
        stored_condition& kept = *::new (out) stored_condition();
        out += sizeof kept;
        ++body->conditions_;
        kept.type = texts.intern(c.type.value(scratch));
        kept.reason = texts.intern(c.reason.value(scratch));
        const std::string_view message = c.message.value(scratch);
        const bool fits = message.size() <= c.message_kept;
        kept.message = texts.intern(fits ? message : base::one_line(message, c.message_kept));
        kept.last_transition = time_seconds(c.last_transition_time.raw);
        kept.status = c.status;
    }
    for (std::size_t i = 0; i < status.jobs.size(); ++i) {
        const job_counts_view& job = status.jobs[i];
        const job_pods pods = i < p.pods.size() ? p.pods[i] : job_pods{};
        ::new (out) stored_counts{.name = texts.intern(job.name.value(scratch)),
                                  .ready = job.ready,
                                  .succeeded = job.succeeded,
                                  .failed = job.failed,
                                  .active = job.active,
                                  .suspended = job.suspended,
                                  .replicas = pods.replicas,
                                  .node_pods = pods.node_pods};
        out += sizeof(stored_counts);
        ++body->counts_;
    }
    for (const std::string_view part : {spec, extra, failures, p.snapshot_hash}) {
        std::copy(part.begin(), part.end(), out);
        out += part.size();
    }
    undo.body = nullptr;
    return body;
}

object_body::pointer object_body::without_spec(const object_body& other) {
    const std::size_t lists = static_cast<std::size_t>(other.text() - reinterpret_cast<const char*>(&other));
    const std::size_t left = other.failures_bytes_ + other.hash_bytes_;
    pointer body(::new (::operator new(lists + left)) object_body(other));
    body->spec_left_out = true;
    body->spec_bytes_ = body->extra_bytes_ = 0;
    std::memcpy(const_cast<char*>(body->tail()), other.tail(), lists - sizeof(object_body));
    std::memcpy(const_cast<char*>(body->text()), other.text() + other.spec_bytes_ + other.extra_bytes_, left);
    return body;
}

void object_body::drop(text_table& texts) const {
    for (const stored_condition& c : conditions()) {
        texts.release(c.type);
        texts.release(c.reason);
        texts.release(c.message);
    }
    for (const stored_counts& c : counts()) texts.release(c.name);
    texts.release(told.message);
    texts.release(terminal_state);
    texts.release(queue);
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

std::string_view object_body::failures() const { return {text() + spec_bytes_ + extra_bytes_, failures_bytes_}; }

std::string_view object_body::snapshot_hash() const {
    return {text() + spec_bytes_ + extra_bytes_ + failures_bytes_, hash_bytes_};
}

std::size_t object_body::bytes() const {
    return static_cast<std::size_t>(text() - reinterpret_cast<const char*>(this)) + spec_bytes_ + extra_bytes_ +
           failures_bytes_ + hash_bytes_;
}

// --- the store -----------------------------------------------------------------------------------------------------

namespace {

std::uint64_t whole_print(const prints& p) {
    const std::uint64_t both[] = {p.spec, p.status};
    return hash_bytes({reinterpret_cast<const char*>(both), sizeof both});
}

}  // namespace

std::uint64_t version_number(std::string_view text) {
    std::uint64_t n = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), n);
    return error == std::errc{} && end == text.data() + text.size() ? n : 0;
}

void write_key(std::string& out, std::string_view ns, std::string_view name) {
    out.assign(ns).append("/").append(name);
}

void write_runtime_key(std::string& out, std::string_view kind, std::string_view ns, std::string_view name) {
    out.assign(kind).append("/");
    if (kind == "TrainingRuntime") out.append(ns);
    out.append("/").append(name);
}

std::string runtime_key(std::string_view kind, std::string_view ns, std::string_view name) {
    std::string key;
    write_runtime_key(key, kind, ns, name);
    return key;
}

object_store::object_store(text_table& texts, spec_bounds most, std::function<void()> wanted) : texts_(texts) {
    const auto drop = [this](text_id key) {
        if (const auto h = find(key)) collapse(*h);
    };
    room_ = std::make_unique<spec_room>(texts, most, spec_room::listener{drop, std::move(wanted)});
}

object_store::object_store(text_table& texts, spec_bounds most, bodies_without_specs of)
    : texts_(texts), without_specs_(of) {
    const auto drop = [this](text_id key) {
        if (const auto h = find(key)) drop_spec(*h);
    };
    room_ = std::make_unique<spec_room>(texts, most, spec_room::listener{drop, {}});
}

object_store::~object_store() {
    if (room_) room_->close();
    for (std::uint32_t s = 0; s < slots_; ++s)
        if (at(s).used) remove(handle{s, at(s).generation});
}

std::uint32_t object_store::new_slot() {
    if (free_ != slot_index::none) return std::exchange(free_, at(free_).after);
    if (slots_ % chunk_records == 0) chunks_.push_back(std::make_unique<object_record[]>(chunk_records));
    return slots_++;
}

object_store::outcome object_store::upsert(const projection& p, bool shown) {
    const prints seen = prints_of(p);
    const auto known = find(p.ns, p.name);
    if (!known) return insert(p, seen, shown);
    object_record& r = at(known->slot);
    if (shown || !r.seen) r.noted = !shown;
    r.seen = true;
    if (outdated(r, p.resource_version)) return {*known, nothing};
    if (!p.uid.empty() && find_uid(texts_, p.uid) != r.id) {
        remove(*known);
        outcome fresh = insert(p, seen, shown);
        fresh.changes |= replaced;
        return fresh;
    }
    std::uint8_t changes = nothing;
    if (whole_print(seen) != r.print) {
        changes = spec_changed | status_changed;
        if (!r.collapsed && r.body->spec_print == seen.spec) changes = status_changed;
        if (!r.collapsed && r.body->status_print == seen.status) changes = spec_changed;
        fill(known->slot, p, seen);
    } else if (p.collapse) {
        collapse(*known);
    } else if (room_ && room_->wants(r.key)) {
        keep_body(r, make_body(r, p, seen));
        if (!without_specs_) changes = spec_changed;
    }
    r.version = version_number(p.resource_version);
    return {*known, changes};
}

bool object_store::outdated(const object_record& known, std::string_view version) {
    const std::uint64_t number = version_number(version);
    return number != 0 && number < known.version;
}

bool object_store::repeats(handle known, std::string_view version, bool shown) {
    object_record& r = at(known.slot);
    if (!r.seen || r.version == 0 || r.version != version_number(version)) return false;
    if (room_ && room_->wants(r.key)) return false;
    if (shown) r.noted = false;
    return true;
}

object_store::outcome object_store::insert(const projection& p, const prints& seen, bool shown) {
    write_key(scratch_, p.ns, p.name);
    text_use key(texts_, texts_.intern(scratch_));
    uid_use id(texts_, make_uid(texts_, p.uid));
    keys_.make_room(key_of());
    const std::uint32_t s = new_slot();
    object_record& r = at(s);
    const std::uint32_t generation = r.generation;
    r = {};
    r.generation = generation;
    r.used = true;
    r.collapsed = true;  // until there is a body
    r.seen = true;
    r.noted = !shown;
    key.put_into(r.key);
    id.put_into(r.id);
    r.created = time_seconds(p.creation_time);
    keys_.put(r.key, s, key_of());
    ++size_;
    const handle made{s, generation};
    try {
        fill(s, p, seen);
    } catch (...) {
        remove(made);
        throw;
    }
    r.version = version_number(p.resource_version);
    return {made, added};
}

// First all that takes memory, then all that changes the record.
void object_store::fill(std::uint32_t s, const projection& p, const prints& seen) {
    object_record& r = at(s);
    uid_use owner(texts_, make_uid(texts_, p.owner_uid));
    text_use group(texts_, intern_group(p));
    groups_.make_room(group_of());
    object_body::pointer body = p.collapse ? object_body::pointer() : make_body(r, p, seen);
    keep_body(r, std::move(body));
    owner.put_into(r.owner);
    move_to_group(s, group);
    r.print = whole_print(seen);
    r.suspend = p.suspend;
    r.deleting = p.deleting;
    r.complete = p.complete;
    r.failed = p.failed;
    r.past_deadline = p.past_deadline;
    r.troubled = p.troubled;
    r.elsewhere = p.elsewhere;
    r.held_back = p.held_back;
    r.finished = p.complete || p.failed ? time_seconds(p.finished_time) : 0;
    if (!p.collapse) return;
    r.counts = seen.counts;
    if (without_specs_) room_->erase(r.key);
}

// Whether the spec may be kept.
bool object_store::has_room(const object_record& r, const projection& p) {
    if (!room_) return true;
    const std::size_t bytes = p.spec_left_out ? 0 : p.spec.size() + p.extra.size();
    if (without_specs_ && bytes <= without_specs_->small_bytes) {
        room_->erase(r.key);
        return true;
    }
    room_->put(r.key, bytes);
    return room_->holds(r.key);
}

// Null where none is kept.
object_body::pointer object_store::make_body(const object_record& r, const projection& p, const prints& seen) {
    const bool room = has_room(r, p);
    if (!room && !without_specs_) return {};
    object_body::pointer body = object_body::make(texts_, p, room);
    body->spec_print = seen.spec;
    body->status_print = seen.status;
    body->counts_print = seen.counts;
    return body;
}

void object_store::keep_body(object_record& r, object_body::pointer body) {
    free_body(r);
    r.collapsed = body == nullptr;
    if (body != nullptr) r.body = body.release();
}

void object_store::drop_spec(handle h) {
    object_record& r = at(h.slot);
    if (r.collapsed) return;
    const object_body::pointer before(std::exchange(r.body, object_body::without_spec(*r.body).release()));
}

text_id object_store::intern_group(const projection& p) {
    if (p.owner_name.empty()) return texts_.intern(p.group);
    write_key(scratch_, p.owner_ns, p.owner_name);
    return texts_.intern(scratch_);
}

void object_store::move_to_group(std::uint32_t s, text_use& group) {
    object_record& r = at(s);
    if (group.id() == r.group) return;
    unlink(s);
    group.put_into(r.group);
    link(s);
}

// A record whose group is its own key is found by that key: most children are called like their owner.
void object_store::link(std::uint32_t s) {
    object_record& r = at(s);
    if (r.group == no_text || r.group == r.key) return;
    r.before = slot_index::none;
    r.after = groups_.find(r.group, group_of());
    if (r.after != slot_index::none) at(r.after).before = s;
    groups_.put(r.group, s, group_of());
    r.linked = true;
}

void object_store::unlink(std::uint32_t s) {
    object_record& r = at(s);
    if (!r.linked) return;
    r.linked = false;
    if (r.after != slot_index::none) at(r.after).before = r.before;
    if (r.before != slot_index::none)
        at(r.before).after = r.after;
    else if (r.after != slot_index::none)
        groups_.put(r.group, r.after, group_of());
    else
        groups_.erase(r.group, group_of());
}

void object_store::free_body(object_record& r) {
    if (r.collapsed) return;
    const object_body::pointer body(r.body);
    body->drop(texts_);
    r.collapsed = true;
    r.counts = 0;
}

void object_store::collapse(handle h) {
    if (get(h) == nullptr || at(h.slot).collapsed) return;
    object_record& r = at(h.slot);
    const std::uint64_t counts = r.body->counts_print;
    free_body(r);
    r.counts = counts;
    if (without_specs_) room_->erase(r.key);
}

bool object_store::remove(std::string_view ns, std::string_view name, std::string_view id) {
    const auto h = find(ns, name);
    if (!h || (!id.empty() && find_uid(texts_, id) != at(h->slot).id)) return false;
    return remove(*h);
}

bool object_store::remove(handle h) {
    if (get(h) == nullptr) return false;
    object_record& r = at(h.slot);
    unlink(h.slot);
    keys_.erase(r.key, key_of());
    free_body(r);
    if (room_) room_->erase(r.key);
    texts_.release(r.key);
    texts_.release(r.group);
    release_uid(texts_, r.id);
    release_uid(texts_, r.owner);
    r.used = false;
    ++r.generation;
    r.after = std::exchange(free_, h.slot);
    --size_;
    return true;
}

void object_store::begin_relist(std::string_view ns) {
    for (std::uint32_t s = 0; s < slots_; ++s)
        if (at(s).used && lives_in(at(s), ns)) at(s).seen = false;
}

bool object_store::lives_in(const object_record& r, std::string_view ns) const {
    if (ns.empty()) return true;
    const std::string_view key = texts_.view(r.key);
    return key.size() > ns.size() && key[ns.size()] == '/' && key.starts_with(ns);
}

const object_record* object_store::get(handle h) const {
    if (h.slot >= slots_) return nullptr;
    const object_record& r = at(h.slot);
    return r.used && r.generation == h.generation ? &r : nullptr;
}

std::optional<handle> object_store::find(text_id key) const {
    if (key == no_text) return std::nullopt;
    const std::uint32_t s = keys_.find(key, key_of());
    if (s == slot_index::none) return std::nullopt;
    return handle{s, at(s).generation};
}

std::optional<handle> object_store::find(std::string_view ns, std::string_view name) const {
    write_key(scratch_, ns, name);
    return find(texts_.find(scratch_));
}

const object_body* object_store::body(handle h) const {
    const object_record* const r = get(h);
    return r == nullptr || r->collapsed ? nullptr : r->body;
}

std::uint64_t object_store::counts_print(const object_record& r) const {
    return r.collapsed ? r.counts : r.body->counts_print;
}

std::size_t object_store::memory_bytes() const {
    std::size_t bytes = chunks_.size() * chunk_records * sizeof(object_record) + keys_.memory_bytes() +
                        groups_.memory_bytes() + chunks_.capacity() * sizeof(void*);
    for_each([&bytes](handle, const object_record& r) {
        if (!r.collapsed) bytes += r.body->bytes();
    });
    return bytes;
}

void object_store::tell_deleted(std::string_view ns, std::string_view name) {
    for (deletion_watch* const w : deletion_watches_)
        w->deleted_ |= (ns.empty() || w->ns_ == ns) && (name.empty() || w->name_ == name);
}

deletion_watch::deletion_watch(object_store& in, std::string_view ns, std::string_view name)
    : in_(in), ns_(ns), name_(name) {
    in_.deletion_watches_.push_back(this);
}

deletion_watch::~deletion_watch() { std::erase(in_.deletion_watches_, this); }

}  // namespace cotrain::watch
