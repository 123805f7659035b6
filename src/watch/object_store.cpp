// Keeping records: what an update changed, who belongs together, and what to forget.
#include "watch/object_store.hpp"

#include <charconv>

namespace cotrain::watch {

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
    r.version = version_number(p.resource_version);
    std::uint8_t changes = nothing;
    if (whole_print(seen) != r.print) {
        changes = spec_changed | status_changed;
        if (!r.collapsed && r.body->spec_print == seen.spec) changes = status_changed;
        if (!r.collapsed && r.body->status_print == seen.status) changes = spec_changed;
        fill(known->slot, p, seen);
    } else if (p.collapse) {
        collapse(*known);
    } else if (room_ && room_->wants(r.key)) {
        keep_body(r, p, seen);
        changes = spec_changed;
    }
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
    const std::uint32_t s = new_slot();
    object_record& r = at(s);
    const std::uint32_t generation = r.generation;
    r = {};
    r.generation = generation;
    r.used = true;
    r.collapsed = true;  // until there is a body
    r.seen = true;
    r.noted = !shown;
    write_key(scratch_, p.ns, p.name);
    r.key = texts_.intern(scratch_);
    r.id = make_uid(texts_, p.uid);
    r.version = version_number(p.resource_version);
    r.created = time_seconds(p.creation_time);
    keys_.put(r.key, s, key_of());
    ++size_;
    fill(s, p, seen);
    return {handle{s, generation}, added};
}

void object_store::fill(std::uint32_t s, const projection& p, const prints& seen) {
    object_record& r = at(s);
    free_body(r);
    r.print = whole_print(seen);
    r.reopened = r.reopened || ((r.complete || r.past_deadline) && !p.complete && !p.past_deadline);
    r.suspend = p.suspend;
    r.deleting = p.deleting;
    r.complete = p.complete;
    r.failed = p.failed;
    r.past_deadline = p.past_deadline;
    r.troubled = p.troubled;
    r.elsewhere = p.elsewhere;
    r.held_back = p.held_back;
    r.finished = p.complete || p.failed ? time_seconds(p.finished_time) : 0;
    const uid owner = make_uid(texts_, p.owner_uid);
    release_uid(texts_, r.owner);
    r.owner = owner;
    move_to_group(s, p);
    if (p.collapse) {
        r.counts = seen.counts;
        return;
    }
    keep_body(r, p, seen);
}

void object_store::keep_body(object_record& r, const projection& p, const prints& seen) {
    if (room_) {
        room_->put(r.key, p.spec.size() + p.extra.size());
        if (!room_->holds(r.key)) return;
    }
    object_body::pointer body = object_body::make(texts_, p);
    body->spec_print = seen.spec;
    body->status_print = seen.status;
    body->counts_print = seen.counts;
    r.body = body.release();
    r.collapsed = false;
}

void object_store::move_to_group(std::uint32_t s, const projection& p) {
    object_record& r = at(s);
    text_id group = no_text;
    if (!p.owner_name.empty()) {
        write_key(scratch_, p.owner_ns, p.owner_name);
        group = texts_.intern(scratch_);
    } else {
        group = texts_.intern(p.group);
    }
    if (group == r.group) return texts_.release(group);
    unlink(s);
    texts_.release(r.group);
    r.group = group;
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

void object_store::begin_picture(std::string_view ns) {
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
