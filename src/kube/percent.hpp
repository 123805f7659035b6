// Percent-encoding of what goes into paths and queries.
#pragma once

#include <string>
#include <string_view>

namespace cotrain::kube {

// Appends `segment` as one segment of a path (RFC 3986 pchar; a slash inside is encoded).
void append_segment(std::string& out, std::string_view segment);

// Appends a header name; what may not stand in one is percent-encoded.
void append_header_name(std::string& out, std::string_view name);

// Appends "?key=value" or "&key=value" pairs to a path; empty values are left out.
class query_writer {
   public:
    explicit query_writer(std::string& path) : path_(path) {}
    void add(std::string_view key, std::string_view value);
    void add(std::string_view key, long long value);

   private:
    std::string& path_;
    bool first_ = true;
};

}  // namespace cotrain::kube
