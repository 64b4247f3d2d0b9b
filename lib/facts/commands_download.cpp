#include "facts/commands_download.hpp"

#include <algorithm>

namespace imgforge {
namespace {

/// The file that a URL is saved under: its last part, without query.
std::string name_in_url(std::string_view url) {
  if (const std::size_t scheme = url.find("://"); scheme != std::string_view::npos) url.remove_prefix(scheme + 3);
  url = url.substr(0, url.find_first_of("?#"));
  const std::size_t slash = url.rfind('/');
  return slash == std::string_view::npos ? std::string() : std::string(url.substr(slash + 1));
}

bool to_standard_output(const std::string& file) { return file == "-" || file == "/dev/stdout"; }

/// The file that standard output goes to.
std::optional<std::string> redirected(const RunCommand& command) {
  std::optional<std::string> file;
  for (const Redirection& one : command.redirections) {
    if (one.operation != ">" && one.operation != ">>" && one.operation != "1>" && one.operation != ">|" &&
        one.operation != "&>")
      continue;
    file = one.target.kind == CommandWord::Kind::text ? path_from(command.folder, one.target.text) : std::string();
  }
  return file;
}

DownloadCommand::Item item_of(const Argument& url) {
  DownloadCommand::Item item;
  item.url = url;
  return item;
}

/// URLs that only the run tells stand in words that are no options.
void add_unknown_urls(const RunCommand& command, const GivenArguments& given, DownloadCommand& download) {
  if (given.not_known.empty()) return;
  download.not_known = given.not_known;
  if (!download.items.empty()) return;
  DownloadCommand::Item item;
  item.url.offset = command.offset;
  item.not_known = given.not_known;
  download.items.push_back(std::move(item));
}

DownloadCommand curl(const RunCommand& command) {
  OptionTable table;
  table.short_with_value = "AbcCdDeEFhHKmoPQrtTuUwxXyYz";
  table.long_with_value = {
      "output",     "output-dir",  "url",         "header",          "user-agent",    "user",         "request",
      "data",       "data-raw",    "data-binary", "data-urlencode",  "form",          "cacert",       "capath",
      "cert",       "key",         "max-time",    "connect-timeout", "retry",         "retry-delay",  "retry-max-time",
      "proxy",      "cookie",      "cookie-jar",  "referer",         "range",         "upload-file",  "write-out",
      "limit-rate", "resolve",     "config",      "proto",           "proto-redir",   "max-redirs",   "continue-at",
      "interface",  "ciphers",     "tls-max",     "dump-header",     "json",          "max-filesize", "parallel-max",
      "time-cond",  "speed-limit", "speed-time",  "proxy-user",      "oauth2-bearer", "netrc-file"};
  const GivenArguments given = sort_arguments(command, 1, table);
  DownloadCommand download;
  download.fails_on_error = given.has("-f") || given.has("--fail") || given.has("--fail-with-body");
  download.insecure = given.has("-k") || given.has("--insecure");
  const auto method = given.value("-X", "--request");
  download.data_sent = given.has("-d") || given.has("--data") || given.has("--data-raw") ||
                       given.has("--data-binary") || given.has("-F") || given.has("--form") || given.has("-T") ||
                       given.has("--upload-file") || given.has("--json") || (method && method->text != "GET");
  for (const Argument& url : given.operands) download.items.push_back(item_of(url));
  for (const Argument& url : given.values("--url")) download.items.push_back(item_of(url));
  add_unknown_urls(command, given, download);

  // The first -o or -O is of the first URL, and so on.
  std::vector<const GivenOption*> outputs;
  for (const GivenOption& option : given.options) {
    if (option.name == "-o" || option.name == "--output" || option.name == "-O" || option.name == "--remote-name")
      outputs.push_back(&option);
  }
  const bool all = given.has("--remote-name-all");
  std::optional<std::string> folder = command.folder;
  if (const auto directory = given.value("--output-dir")) folder = path_from(command.folder, directory->text);
  const auto redirect = redirected(command);
  for (std::size_t i = 0; i < download.items.size(); ++i) {
    DownloadCommand::Item& item = download.items[i];
    const GivenOption* output = i < outputs.size() ? outputs[i] : nullptr;
    const bool remote = output ? output->name == "-O" || output->name == "--remote-name" : all;
    if (output && !remote) {
      if (!output->value) {
        if (item.not_known.empty()) item.not_known = "cannot tell which file it is written to";
      } else if (to_standard_output(output->value->text)) {
        download.to_output = true;
      } else {
        item.file = path_from(folder, output->value->text);
      }
    } else if (remote) {
      const std::string name = name_in_url(item.url.text);
      if (!name.empty()) item.file = path_from(folder, name);
    } else if (redirect) {
      item.file = *redirect;
      if (redirect->empty() && item.not_known.empty()) item.not_known = "cannot tell which file it is written to";
    } else {
      download.to_output = true;
    }
  }
  return download;
}

DownloadCommand wget(const RunCommand& command) {
  // "-nv", "-nc": letters of their own.
  RunCommand plain = command;
  for (std::size_t i = plain.words.size(); i-- > 1;) {
    const std::string& text = plain.words[i].text;
    if (plain.words[i].kind == CommandWord::Kind::text && text.size() == 3 && text.starts_with("-n")) {
      plain.words.erase(plain.words.begin() + static_cast<std::ptrdiff_t>(i));
      plain.offsets.erase(plain.offsets.begin() + static_cast<std::ptrdiff_t>(i));
    }
  }
  OptionTable table;
  table.short_with_value = "aeioOPQtTUwBADRIlX";
  table.long_with_value = {"output-document",
                           "output-file",
                           "append-output",
                           "directory-prefix",
                           "tries",
                           "timeout",
                           "wait",
                           "user-agent",
                           "header",
                           "user",
                           "password",
                           "http-user",
                           "http-password",
                           "input-file",
                           "ca-certificate",
                           "execute",
                           "post-data",
                           "post-file",
                           "method",
                           "body-data",
                           "progress",
                           "limit-rate",
                           "waitretry",
                           "retry-on-http-error",
                           "level",
                           "accept",
                           "reject",
                           "cut-dirs",
                           "dns-timeout",
                           "connect-timeout",
                           "read-timeout",
                           "load-cookies",
                           "save-cookies",
                           "base",
                           "secure-protocol",
                           "quota",
                           "bind-address"};
  const GivenArguments given = sort_arguments(plain, 1, table);
  DownloadCommand download;
  download.fails_on_error = true;
  download.insecure = given.has("--no-check-certificate");
  download.data_sent = given.has("--post-data") || given.has("--post-file") || given.has("--body-data");
  for (const Argument& url : given.operands) download.items.push_back(item_of(url));
  add_unknown_urls(command, given, download);
  std::optional<std::string> folder = command.folder;
  if (const auto directory = given.value("-P", "--directory-prefix"))
    folder = path_from(command.folder, directory->text);
  const auto output = given.value("-O", "--output-document");
  const bool output_lost = !output && (given.has("-O") || given.has("--output-document"));
  const auto redirect = redirected(command);
  for (DownloadCommand::Item& item : download.items) {
    if (output_lost) {
      if (item.not_known.empty()) item.not_known = "cannot tell which file it is written to";
    } else if (output && to_standard_output(output->text)) {
      if (redirect) item.file = *redirect;
      if (!redirect) download.to_output = true;
    } else if (output) {
      item.file = path_from(command.folder, output->text);
    } else if (const std::string name = name_in_url(item.url.text); !item.url.text.empty()) {
      item.file = path_from(folder, name.empty() ? "index.html" : name);
    }
  }
  return download;
}

}  // namespace

std::optional<DownloadCommand> read_download(const RunCommand& command) {
  const std::string name = program_name(command);
  if (name != "curl" && name != "wget") return std::nullopt;
  DownloadCommand download = name == "curl" ? curl(command) : wget(command);
  if (download.items.empty()) return std::nullopt;
  download.program = name;
  download.offset = command.offsets.empty() ? command.offset : command.offsets.front();
  return download;
}

}  // namespace imgforge
