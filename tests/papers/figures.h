// Our figure of each claim of a paper, in figures.txt: one line "figure | test | claim". A band around a published
// figure allows for what the paper leaves open, for example the workspace, and may be wide; it says whether a claim is
// reproduced. The file says what we get, so that a change of a rule or of a policy that moves a figure fails a test
// although the figure stays in its band.
#pragma once

#include <string>

namespace plimsoll::papers {

// Requires `ours` to be the figure of this claim in the file, to 5 significant digits. PLIMSOLL_UPDATE=1 writes it
// there instead.
void expect_figure(const std::string& claim, double ours);

}  // namespace plimsoll::papers
