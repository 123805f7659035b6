// The playground's page as the files under src/app/page/ were when the program was built.
#pragma once

#include <string_view>

namespace cotrain::app::page {

extern const std::string_view html;
extern const std::string_view script;
extern const std::string_view style;

}  // namespace cotrain::app::page
