// Reads faults, counts what they meet, says when they strike.
#include "sim/faults.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <utility>

namespace cotrain::sim {
namespace {

using frequency = fault_rule::frequency;

struct action_name {
    std::string_view word;
    fault_action action;
};
constexpr std::array action_names{
    action_name{"delay", fault_action::delay},     action_name{"status", fault_action::status},
    action_name{"drop", fault_action::drop},       action_name{"hang", fault_action::hang},
    action_name{"goaway", fault_action::goaway},   action_name{"freeze", fault_action::freeze},
    action_name{"expire", fault_action::expire},   action_name{"duplicate", fault_action::duplicate},
    action_name{"reorder", fault_action::reorder},
};
constexpr std::array verbs{"*", "get", "list", "watch", "create", "update", "patch", "delete"};

std::vector<std::string_view> words_of(std::string_view text) {
    std::vector<std::string_view> out;
    while (true) {
        const std::size_t from = text.find_first_not_of(" \t\r");
        if (from == std::string_view::npos) return out;
        text.remove_prefix(from);
        const std::string_view word = text.substr(0, text.find_first_of(" \t\r"));
        out.push_back(word);
        text.remove_prefix(word.size());
    }
}

std::optional<std::uint64_t> number(std::string_view text) {
    std::uint64_t out = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), out);
    if (error != std::errc{} || end != text.data() + text.size() || text.empty()) return std::nullopt;
    return out;
}

std::optional<std::chrono::milliseconds> duration(std::string_view text) {
    const bool short_unit = text.ends_with("ms");
    if (!short_unit && !text.ends_with("s")) return std::nullopt;
    const auto value = number(text.substr(0, text.size() - (short_unit ? 2 : 1)));
    if (!value || *value > static_cast<std::uint64_t>(fault_delay_max.count())) return std::nullopt;
    const std::chrono::milliseconds out{static_cast<std::int64_t>(*value) * (short_unit ? 1 : 1000)};
    return out <= fault_delay_max ? std::optional{out} : std::nullopt;
}

// Reads one rule from its words.
class rule_reader {
   public:
    explicit rule_reader(std::vector<std::string_view> words) : words_(std::move(words)) {}

    base::result<fault_rule> read() {
        fault_rule out;
        if (auto fine = read_frequency(out); !fine) return base::fail(std::move(fine.error()));
        if (at_ + 3 > words_.size()) return wrong("a rule needs a verb, a resource and an action");
        out.verb = next();
        if (std::ranges::find(verbs, out.verb) == verbs.end())
            return wrong(fmt::format("'{}' is no verb; there are {}", out.verb, fmt::join(verbs, ", ")));
        out.resource = next();
        if (auto fine = read_action(out); !fine) return base::fail(std::move(fine.error()));
        if (at_ != words_.size()) return wrong(fmt::format("'{}' is too much", words_[at_]));
        return out;
    }

   private:
    static std::unexpected<base::error> wrong(std::string what) {
        return base::fail(base::errc::invalid, std::move(what));
    }
    std::string_view next() { return at_ < words_.size() ? words_[at_++] : std::string_view{}; }

    base::result<> read_frequency(fault_rule& out) {
        const std::string_view word = words_.front();
        if (word == "always" || word == "once") {
            if (word == "once") out = {.often = frequency::first, .number = 1};
            ++at_;
        } else if (word == "every" || word == "first") {
            ++at_;
            const auto n = number(next());
            if (!n || *n == 0) return wrong(fmt::format("behind '{}' comes a number above 0", word));
            out.often = word == "every" ? frequency::every : frequency::first;
            out.number = *n;
        } else if (word.ends_with('%')) {
            ++at_;
            const auto n = number(word.substr(0, word.size() - 1));
            if (!n || *n > 100) return wrong(fmt::format("'{}' is no percentage from 0% to 100%", word));
            out.often = frequency::percent;
            out.number = *n;
        }
        return {};
    }

    base::result<> read_action(fault_rule& out) {
        const std::string_view word = next();
        const auto found = std::ranges::find(action_names, word, &action_name::word);
        if (found == action_names.end()) {
            std::string all;
            for (const action_name& each : action_names) all.append(all.empty() ? "" : ", ").append(each.word);
            return wrong(fmt::format("'{}' is no action; there are {}", word, all));
        }
        out.action = found->action;
        if (out.action == fault_action::delay) {
            const auto time = duration(next());
            if (!time) return wrong("behind 'delay' comes a time such as 50ms or 2s, at most 600s");
            out.delay = *time;
        }
        if (out.action == fault_action::status) {
            const auto code = number(next());
            if (!code || *code < 400 || *code > 599) return wrong("behind 'status' comes a code from 400 to 599");
            out.code = static_cast<int>(*code);
            if (at_ < words_.size() && words_[at_] == "retry-after") {
                ++at_;
                const auto seconds = number(next());
                if (!seconds || *seconds > 3600) return wrong("behind 'retry-after' come seconds, at most 3600");
                out.retry_after_seconds = static_cast<int>(*seconds);
            }
        }
        return {};
    }

    std::vector<std::string_view> words_;
    std::size_t at_ = 0;
};

}  // namespace

base::result<std::vector<fault_rule>> read_faults(std::string_view text) {
    std::vector<fault_rule> out;
    for (std::size_t line = 1; !text.empty(); ++line) {
        const std::size_t end = std::min(text.find('\n'), text.size());
        std::string_view whole = text.substr(0, end);
        text.remove_prefix(std::min(end + 1, text.size()));
        whole = whole.substr(0, whole.find('#'));
        while (!whole.empty()) {
            const std::size_t stop = std::min(whole.find(';'), whole.size());
            std::vector<std::string_view> words = words_of(whole.substr(0, stop));
            whole.remove_prefix(std::min(stop + 1, whole.size()));
            if (words.empty()) continue;
            if (out.size() >= fault_rules_max)
                return base::fail(base::errc::too_large, fmt::format("there may be {} faults", fault_rules_max));
            auto rule = rule_reader(std::move(words)).read();
            if (!rule) return base::fail(std::move(rule.error()).during(fmt::format("faults, line {}", line)));
            out.push_back(std::move(*rule));
        }
    }
    return out;
}

faults::faults(std::vector<fault_rule> rules, std::uint64_t seed) : random_(seed) {
    for (fault_rule& each : rules) rules_.push_back({std::move(each)});
}

bool faults::uses(fault_action what) const {
    return std::ranges::any_of(rules_, [&](const counted& each) { return each.rule.action == what; });
}

bool faults::strikes(counted& each) {
    ++each.met;
    switch (each.rule.often) {
        case frequency::always: return true;
        case frequency::percent: return random_.unit() * 100 < static_cast<double>(each.rule.number);
        case frequency::every: return each.met % each.rule.number == 0;
        case frequency::first: return each.met <= each.rule.number;
    }
    return false;
}

faults::verdict faults::judge(std::string_view verb, std::string_view resource) {
    verdict out;
    for (counted& each : rules_) {
        if (each.rule.of_events() || (each.rule.verb != "*" && each.rule.verb != verb)) continue;
        if ((each.rule.resource != "*" && each.rule.resource != resource) || !strikes(each)) continue;
        ++struck_;
        if (each.rule.action == fault_action::delay) {
            out.delay += each.rule.delay;
        } else if (out.rule == nullptr) {
            out.rule = &each.rule;
        }
    }
    return out;
}

std::optional<fault_action> faults::judge_event(std::string_view resource) {
    for (counted& each : rules_) {
        if (!each.rule.of_events() || (each.rule.resource != "*" && each.rule.resource != resource)) continue;
        if (!strikes(each)) continue;
        ++struck_;
        return each.rule.action;
    }
    return std::nullopt;
}

void event_faults::pass(std::string line, std::string& out) {
    const auto struck = by_->judge_event(resource_);
    if (struck == fault_action::reorder && held_.empty()) {
        held_ = std::move(line);
        return;
    }
    out += line;
    if (struck == fault_action::duplicate) out += line;
    flush(out);
}

void event_faults::flush(std::string& out) {
    out += held_;
    held_.clear();
}

}  // namespace cotrain::sim
