// Closing containers, and finding members that occur twice.
#include "doc/tree_builder.hpp"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <new>
#include <numeric>

namespace cotrain::doc {

namespace {

static_assert(sizeof(member) == 2 * sizeof(ref), "members lie on the stack as two values");

// Small objects are searched member by member, larger ones sorted: foreign input must not cost a square.
constexpr std::size_t search_max = 16;

}  // namespace

tree_builder::~tree_builder() {
    if (stack_ != reinterpret_cast<ref*>(inline_)) std::free(stack_);
}

void tree_builder::grow() {
    auto* const larger = static_cast<ref*>(std::malloc(capacity_ * 2 * sizeof(ref)));
    if (larger == nullptr) throw std::bad_alloc();
    std::memcpy(static_cast<void*>(larger), stack_, size_ * sizeof(ref));
    if (stack_ != reinterpret_cast<ref*>(inline_)) std::free(stack_);
    stack_ = larger;
    capacity_ *= 2;
}

std::span<const member> tree_builder::members(std::size_t mark) const {
    return {reinterpret_cast<const member*>(stack_ + mark), (size_ - mark) / 2};
}

std::vector<std::size_t> tree_builder::by_name(std::size_t mark) const {
    const auto list = members(mark);
    std::vector<std::size_t> order(list.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::ranges::sort(order, [&](std::size_t a, std::size_t b) {
        const int compared = list[a].key().compare(list[b].key());
        return compared != 0 ? compared < 0 : a < b;
    });
    return order;
}

std::optional<std::size_t> tree_builder::first_duplicate(std::size_t mark) const {
    const auto list = members(mark);
    if (list.size() <= search_max) {
        for (std::size_t i = 1; i < list.size(); ++i) {
            for (std::size_t j = 0; j < i; ++j) {
                if (list[i].key() == list[j].key()) return i;
            }
        }
        return std::nullopt;
    }
    const auto order = by_name(mark);
    std::optional<std::size_t> found;
    for (std::size_t i = 1; i < order.size(); ++i) {
        if (list[order[i]].key() != list[order[i - 1]].key()) continue;
        found = std::min(found.value_or(order[i]), order[i]);
    }
    return found;
}

bool tree_builder::drop_duplicates(std::size_t mark) {
    if (!first_duplicate(mark)) return false;
    const auto order = by_name(mark);
    const std::span list(reinterpret_cast<member*>(stack_ + mark), order.size());
    std::size_t first = 0;
    for (std::size_t i = 1; i < order.size(); ++i) {
        if (list[order[i]].key() != list[order[first]].key()) {
            first = i;
            continue;
        }
        list[order[first]].value = list[order[i]].value;
        list[order[i]].value = ref{};
    }
    const auto dropped = std::ranges::remove_if(list, [](const member& m) { return !m.value; });
    size_ -= 2 * dropped.size();
    return true;
}

ref tree_builder::close(kind k, std::size_t mark, std::string_view text) {
    const bool object = k == kind::object;
    const std::span values = since(mark);
    if (values.empty()) return object ? ref::empty_object() : ref::empty_array();
    auto* const block = static_cast<char*>(memory_.allocate(sizeof(detail::container) + values.size() * sizeof(ref)));
    auto* const body = new (block) detail::container;
    body->slots = block + sizeof(detail::container);
    body->size = body->capacity = static_cast<std::uint32_t>(object ? values.size() / 2 : values.size());
    body->attached = true;
    if (!text.empty()) {
        body->text = text.data();
        body->text_bytes = static_cast<std::uint32_t>(text.size());
    }
    std::memcpy(body->slots, values.data(), values.size() * sizeof(ref));
    size_ = mark;
    return {k, body, 0, false};
}

}  // namespace cotrain::doc
