//===- RegexParser.cpp - Regular expressions of RE2 -----------------------===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// As RE2's own document of its syntax has them, but for lines of their own
// (?m), for classes by Unicode's properties (\p) and for single bytes (\C).
// Groups are no more than brackets, and greedy or not is the same to a match of
// the whole.
//
//===----------------------------------------------------------------------===//
#include "compiler/Import/onnx/strings/RegexParser.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/ConvertUTF.h"

using namespace llvm;

namespace tinh::onnx {

namespace {

using Kind = Regex::Kind;

/// As RE2: groups within groups, and how often a part is repeated.
constexpr int kDeepest = 200, kMostRepeats = 1000;

/// The most bytes of a pattern, and of one in a message.
constexpr size_t kLongestPattern = 1 << 16, kLongestShown = 100;

class Parser {
public:
  Parser(StringRef pattern, std::string &error)
      : pattern(pattern), rest(pattern), error(error) {}

  std::optional<Regex> parse();

private:
  struct Flags {
    bool ignoresCase = false, dotIsAny = false;
  };

  bool fail(const Twine &what);
  bool parseChoice(Regex &result);
  bool parseSequence(Regex &result);
  bool parseAtom(Regex &result);
  bool parseRepeats(Regex &atom);
  bool parseCounts(int &least, int &most);
  bool parseGroup(Regex &result);
  bool parseFlags();
  bool parseClass(Regex &result);
  bool parseClassItem(CodePointSet &set);
  bool parseNamedClass(CodePointSet &set);
  bool parseEscape(Regex &result);
  bool parseQuoted(std::vector<Regex> &parts);
  bool readCharacter(uint32_t &character);
  bool readEscaped(uint32_t &character);
  bool readHex(uint32_t &character);
  Regex setOf(CodePointSet set) const;

  StringRef pattern, rest;
  std::string &error;
  Flags flags;
  int depth = 0;
};

bool Parser::fail(const Twine &what) {
  if (error.empty())
    error = (what + ", at byte " + Twine(pattern.size() - rest.size()) +
             " of " + quotePattern(pattern))
                .str();
  return false;
}

Regex Parser::setOf(CodePointSet set) const {
  if (flags.ignoresCase)
    set.addCases();
  set.merge();
  return {Kind::Set, std::move(set)};
}

std::optional<Regex> Parser::parse() {
  Regex result;
  if (!parseChoice(result))
    return std::nullopt;
  if (rest.empty())
    return result;
  fail("a ) without a (");
  return std::nullopt;
}

bool Parser::parseChoice(Regex &result) {
  result.kind = Kind::Choice;
  do {
    if (!parseSequence(result.parts.emplace_back()))
      return false;
  } while (rest.consume_front("|"));
  return true;
}

bool Parser::parseSequence(Regex &result) {
  result.kind = Kind::Sequence;
  while (!rest.empty() && rest.front() != '|' && rest.front() != ')') {
    bool isQuoted = rest.consume_front("\\Q");
    bool isRead = isQuoted ? parseQuoted(result.parts)
                           : parseAtom(result.parts.emplace_back());
    if (!isRead)
      return false;
    // What repeats is for the last character of a quote.
    if (!result.parts.empty() && !parseRepeats(result.parts.back()))
      return false;
  }
  return true;
}

bool Parser::parseAtom(Regex &result) {
  switch (rest.front()) {
  case '(':
    return parseGroup(result);
  case '[':
    return parseClass(result);
  case '\\':
    return parseEscape(result);
  case '*':
  case '+':
  case '?':
    return fail("nothing is in front of it to repeat");
  case '^':
    rest = rest.drop_front();
    result.kind = Kind::Begin;
    return true;
  case '$':
    rest = rest.drop_front();
    result.kind = Kind::End;
    return true;
  case '.':
    rest = rest.drop_front();
    result.kind = Kind::Set;
    result.set = CodePointSet{{'\n', '\n'}}.complement();
    if (flags.dotIsAny)
      result.set = {{0, kLastCodePoint}};
    return true;
  }
  uint32_t character;
  if (!readCharacter(character))
    return false;
  result = setOf({{character, character}});
  return true;
}

/// {2}, {2,} or {2,5}; anything else in braces is characters.
bool Parser::parseCounts(int &least, int &most) {
  StringRef text = rest;
  if (!text.consume_front("{") || text.consumeInteger(10, least))
    return false;
  most = least;
  if (text.consume_front(",")) {
    most = Regex::kUnlimited;
    if (!text.starts_with("}") && text.consumeInteger(10, most))
      return false;
  }
  if (!text.consume_front("}"))
    return false;
  rest = text;
  return true;
}

bool Parser::parseRepeats(Regex &atom) {
  int least = 0, most = Regex::kUnlimited;
  if (rest.consume_front("*")) {
  } else if (rest.consume_front("+")) {
    least = 1;
  } else if (rest.consume_front("?")) {
    most = 1;
  } else if (!parseCounts(least, most)) {
    return true;
  }
  if (least < 0 || least > kMostRepeats || most > kMostRepeats ||
      (most != Regex::kUnlimited && most < least))
    return fail("expected repeats of 0 to " + Twine(kMostRepeats) +
                ", the smaller number first");
  rest.consume_front("?"); // As few as match.
  Regex part = std::move(atom);
  atom = {Kind::Repeat, {}, {std::move(part)}, least, most};
  int again = 0;
  StringRef before = rest;
  bool repeats = rest.starts_with("*") || rest.starts_with("+") ||
                 rest.starts_with("?") || parseCounts(again, again);
  rest = before;
  return !repeats || fail("a repeat of a repeat, which needs brackets");
}

/// (?i), or (?i: of a group.
bool Parser::parseFlags() {
  bool isOn = true;
  while (!rest.empty() && rest.front() != ':' && rest.front() != ')') {
    switch (rest.front()) {
    case '-':
      isOn = false;
      break;
    case 'i':
      flags.ignoresCase = isOn;
      break;
    case 's':
      flags.dotIsAny = isOn;
      break;
    case 'U':
      break;
    case 'm':
      if (!isOn)
        break;
      return fail("lines of their own (?m) are not supported");
    default:
      return fail("expected flags of i, s and U behind (?");
    }
    rest = rest.drop_front();
  }
  return true;
}

bool Parser::parseGroup(Regex &result) {
  rest = rest.drop_front();
  if (++depth > kDeepest)
    return fail("groups are nested more than " + Twine(kDeepest) + " deep");
  Flags before = flags;
  if (rest.consume_front("?P<") || rest.consume_front("?<")) {
    if (rest.starts_with("=") || rest.starts_with("!"))
      return fail("what stands before a match cannot be asked for");
    auto [name, behind] = rest.split('>');
    if (name.empty() || behind.data() == nullptr)
      return fail("expected the name of a group and >");
    rest = behind;
  } else if (rest.consume_front("?")) {
    if (rest.starts_with("=") || rest.starts_with("!"))
      return fail("what stands behind a match cannot be asked for");
    if (!parseFlags())
      return false;
    if (rest.consume_front(")")) { // They are for what follows.
      --depth;
      return true;
    }
    rest.consume_front(":");
  }
  if (!parseChoice(result))
    return false;
  flags = before;
  --depth;
  return rest.consume_front(")") || fail("a ( without a )");
}

bool Parser::parseNamedClass(CodePointSet &set) {
  StringRef name = rest.drop_front(2).split(":]").first;
  bool isComplement = name.starts_with("^");
  auto named = posixClass(name.drop_front(isComplement));
  if (!named)
    return fail("[:" + name + ":] is no class of characters");
  rest = rest.drop_front(name.size() + 4);
  set.add(isComplement ? named->complement() : *named);
  return true;
}

bool Parser::parseClassItem(CodePointSet &set) {
  if (rest.starts_with("[:") && rest.contains(":]"))
    return parseNamedClass(set);
  if (rest.size() > 1 && rest[0] == '\\')
    if (auto named = perlClass(rest[1])) {
      rest = rest.drop_front(2);
      set.add(*named);
      return true;
    }
  auto read = [&](uint32_t &character) {
    return rest.starts_with("\\") ? readEscaped(character)
                                  : readCharacter(character);
  };
  uint32_t first, last;
  if (!read(first))
    return false;
  last = first;
  if (rest.size() > 1 && rest[0] == '-' && rest[1] != ']') {
    rest = rest.drop_front();
    if (!read(last))
      return false;
    if (last < first)
      return fail("a range of characters from the last to the first");
  }
  set.add(first, last);
  return true;
}

bool Parser::parseClass(Regex &result) {
  rest = rest.drop_front();
  bool isComplement = rest.consume_front("^");
  CodePointSet set;
  bool isFirst = true; // A ] there is a character.
  while (isFirst || !rest.starts_with("]")) {
    isFirst = false;
    if (rest.empty())
      return fail("a [ without a ]");
    if (!parseClassItem(set))
      return false;
  }
  rest = rest.drop_front();
  result = setOf(set);
  if (isComplement)
    result.set = result.set.complement();
  return true;
}

/// What stands between \Q and \E, or the end: a part for each character.
bool Parser::parseQuoted(std::vector<Regex> &parts) {
  uint32_t character;
  while (!rest.empty() && !rest.consume_front("\\E")) {
    if (!readCharacter(character))
      return false;
    parts.push_back(setOf({{character, character}}));
  }
  return true;
}

bool Parser::parseEscape(Regex &result) {
  char letter = rest.size() > 1 ? rest[1] : '\0';
  if (auto named = perlClass(letter)) {
    rest = rest.drop_front(2);
    result = {Kind::Set, *named};
    return true;
  }
  switch (letter) {
  case 'A':
  case 'z':
    rest = rest.drop_front(2);
    result.kind = letter == 'A' ? Kind::Begin : Kind::End;
    return true;
  case 'b':
  case 'B':
    rest = rest.drop_front(2);
    result.kind = letter == 'b' ? Kind::Boundary : Kind::Inside;
    return true;
  case 'p':
  case 'P':
    return fail("classes by Unicode's properties (\\p) are not supported");
  case 'C':
    return fail("single bytes (\\C) are not supported");
  }
  uint32_t character;
  if (!readEscaped(character))
    return false;
  result = setOf({{character, character}});
  return true;
}

bool Parser::readCharacter(uint32_t &character) {
  auto *at = rest.bytes_begin();
  UTF32 letter;
  if (convertUTF8Sequence(&at, rest.bytes_end(), &letter, strictConversion) !=
      conversionOK)
    return fail("expected UTF-8");
  rest = rest.drop_front(at - rest.bytes_begin());
  character = letter;
  return true;
}

/// Behind \x: two digits, or any number of them in braces.
bool Parser::readHex(uint32_t &character) {
  StringRef digits;
  if (rest.consume_front("{")) {
    digits = rest.take_until([](char c) { return c == '}'; });
    rest = rest.drop_front(std::min(rest.size(), digits.size() + 1));
  } else {
    digits = rest.take_front(2);
    rest = rest.drop_front(digits.size());
  }
  if (digits.empty() || digits.getAsInteger(16, character) ||
      character > kLastCodePoint)
    return fail("expected the hexadecimal digits of a character behind \\x");
  return true;
}

bool Parser::readEscaped(uint32_t &character) {
  rest = rest.drop_front();
  if (rest.empty())
    return fail("nothing is behind the last \\");
  char letter = rest.front();
  static constexpr StringLiteral kNames = "afnrtv", kMeanings = "\a\f\n\r\t\v";
  if (size_t i = kNames.find(letter); i != StringRef::npos) {
    character = static_cast<unsigned char>(kMeanings[i]);
    rest = rest.drop_front();
    return true;
  }
  if (rest.consume_front("x"))
    return readHex(character);
  bool isOctal = letter == '0' || (letter >= '1' && letter <= '7' &&
                                   rest.size() > 1 && isDigit(rest[1]));
  if (isOctal) {
    StringRef digits = rest.take_front(3).take_while(
        [](char c) { return c >= '0' && c <= '7'; });
    rest = rest.drop_front(digits.size());
    return !digits.getAsInteger(8, character) || fail("expected octal digits");
  }
  if (isAlnum(letter))
    return fail("\\" + Twine(letter) + " means nothing");
  return readCharacter(character);
}

} // namespace

std::string quotePattern(StringRef pattern) {
  if (pattern.size() <= kLongestShown)
    return ("\"" + pattern + "\"").str();
  // No character is cut.
  size_t size = kLongestShown;
  while (size > 0 && (static_cast<uint8_t>(pattern[size]) & 0xc0) == 0x80)
    --size;
  return ("\"" + pattern.take_front(size) + "…\"").str();
}

std::optional<Regex> parseRegex(StringRef pattern, std::string &error) {
  if (pattern.size() > kLongestPattern) {
    error = ("expected a pattern of at most " + Twine(kLongestPattern) +
             " bytes, found " + Twine(pattern.size()))
                .str();
    return std::nullopt;
  }
  return Parser(pattern, error).parse();
}

} // namespace tinh::onnx
