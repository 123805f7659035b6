// The reader behind parse_yaml(): nodes in block style and in brackets, put together to documents.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "api/tree_builder.hpp"
#include "api/yaml.hpp"
#include "api/yaml_cursor.hpp"
#include "api/yaml_resolve.hpp"
#include "api/yaml_scalars.hpp"

namespace cotrain::api {

// Functions return false after recording a mistake in the cursor.
class yaml_reader {
   public:
    yaml_reader(arena& memory, std::string_view text, read_limits limits, yaml_aliases aliases);

    [[nodiscard]] base::result<std::vector<yaml_document>> read();

   private:
    // What stands before a block node, which decides what may follow on the same line.
    // `mark` is a '?' or a ':' that stands alone.
    enum class after : std::uint8_t { start, key, dash, mark };

    struct node {
        ref value;
        unsigned height = 0;     // levels below
        std::size_t values = 1;  // all values in it, those of aliases counted each time
        std::size_t bytes = 0;   // their weight
        const char* place = nullptr;
        const char* line = nullptr;
        bool merge = false;  // a plain <<
    };

    // The anchor and tag before a node.
    struct properties {
        std::string_view anchor;
        yaml_tag tag = yaml_tag::none;
        bool has_tag = false;
        bool any = false;
        bool fresh = false;  // first on their line
        int column = 0;
        const char* place = nullptr;
    };

    // An open container.
    struct frame {
        std::size_t mark = 0;
        std::size_t places = 0;
        std::size_t merges = 0;
        std::size_t values = 1;
        std::size_t bytes = 0;
        unsigned height = 0;
    };

    struct anchored {
        node what;
        bool open = true;  // still being read
    };
    struct merged {
        ref source;
        const char* place;
        std::size_t members_before;
    };

    // Documents.
    bool check_text();
    bool document(std::vector<yaml_document>& list, bool& more);
    bool document_start(bool& more);
    bool directive();

    // Block style.
    bool block_node(int indent, after where, node& out);
    bool block_properties(int indent, after where, properties& outer, properties& inner, bool& nothing);
    bool block_content(int indent, after where, const properties& outer, const properties& inner, node& out);
    bool block_text(int indent, bool may_open, const properties& outer, const properties& inner, node& out);
    bool block_sequence(bool beside_keys, node& out);
    bool block_mapping(int column, const node* first_key, node& out);
    bool block_member(int column, const node* first_key, frame& f);
    bool block_key(node& key);
    bool next_entry(int column, bool& more);

    // In brackets.
    bool flow_node(node& out);
    bool flow_content(node& out);
    bool flow_sequence(node& out);
    bool flow_mapping(node& out);
    bool flow_entry(node& key, node& v, bool& pair);
    bool flow_value(node& v);
    bool flow_gap(const char* open);

    // Both.
    bool property(properties& p, bool flow);
    bool tag(properties& p, bool flow);
    bool anchor_name(std::string_view& name);
    bool alias(node& out);
    bool scan(int column_min, bool flow, yaml_scalar& text);
    bool resolve(const properties& p, const yaml_scalar& text, const char* place, node& out);
    bool empty(const properties& p, node& out);
    bool combine(const properties& outer, const properties& inner, properties& both);
    bool finish(const properties& p, node& n);
    [[nodiscard]] bool key_ended(const char* place, const char* line) const;

    // Putting together.
    bool open(frame& f);
    bool add_item(frame& f, const node& v);
    bool add_member(frame& f, const node& key, const node& v);
    bool close(kind k, const frame& f, node& out);
    bool apply_merges(const frame& f, std::size_t& values);
    bool leave();
    bool count(std::size_t values);
    bool expand(std::size_t bytes);

    arena& memory_;
    yaml_cursor c_;
    yaml_scalars scalars_;
    tree_builder builder_;
    read_limits limits_;
    unsigned depth_ = 0;  // of the node that is read, 1 for the root
    std::size_t values_ = 0;
    std::size_t expanded_bytes_ = 0;  // by aliases
    std::size_t expanded_bytes_max_;
    yaml_aliases aliases_;
    std::vector<const char*> key_places_;
    std::vector<merged> merges_;
    std::map<std::string_view, anchored> anchors_;  // foreign names: no hash that can be made to collide
    std::string problem_;
};

}  // namespace cotrain::api
