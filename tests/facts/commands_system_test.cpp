// Commands that change files, accounts and alternatives, fetch files, and run Python.
#include <catch2/catch.hpp>

#include "facts/commands_accounts.hpp"
#include "facts/commands_alternatives.hpp"
#include "facts/commands_download.hpp"
#include "facts/commands_files.hpp"
#include "facts/commands_python.hpp"
#include "run_commands.hpp"

using namespace imgforge;

namespace {

std::string joined(const std::vector<Argument>& list) {
  std::string text;
  for (const Argument& one : list) text += (text.empty() ? "" : " ") + one.text;
  return text;
}

FileCommand file_of(const std::string& text) {
  INFO(text);
  const auto made = read_file_command(command_of(text));
  REQUIRE(made);
  return *made;
}

PythonCommand python_of(const std::string& text) {
  INFO(text);
  const auto made = read_python(command_of(text));
  REQUIRE(made);
  return *made;
}

AccountCommand account_of(const std::string& text) {
  INFO(text);
  const auto made = read_account_command(command_of(text));
  REQUIRE(made);
  return *made;
}

}  // namespace

TEST_CASE("downloads", "[commands_download]") {
  const auto shown = [](const std::string& text) -> std::string {
    const auto made = read_download(command_of(text));
    if (!made) return "none";
    std::string all;
    for (const auto& item : made->items)
      all += item.url.text + ">" + item.file + (item.not_known.empty() ? "" : "?") + " ";
    return all + (made->to_output ? "out" : "");
  };
  CHECK(shown("cd /w && curl -fsSLo x https://h/y") == "https://h/y>/w/x ");
  CHECK(shown("curl -fsSL https://h/y -o /a/../x") == "https://h/y>/x ");
  CHECK(shown("cd /w && curl -LO https://h/y.sh?q=1") == "https://h/y.sh?q=1>/w/y.sh ");
  CHECK(shown("curl --output-dir /d -O https://h/y") == "https://h/y>/d/y ");
  CHECK(shown("curl -sSL https://h/y") == "https://h/y> out");
  CHECK(shown("curl -sSL https://h/y > /z") == "https://h/y>/z ");
  CHECK(shown("curl -o /a https://h/1 -o /b https://h/2") == "https://h/1>/a https://h/2>/b ");
  CHECK(shown("wget -q https://h/y") == "https://h/y>/y ");
  CHECK(shown("wget -nv -O /x https://h/y") == "https://h/y>/x ");
  CHECK(shown("wget -qO- https://h/y") == "https://h/y> out");
  CHECK(shown("wget -P /d https://h/y") == "https://h/y>/d/y ");
  CHECK(shown("curl -o /x $UNKNOWN") == ">/x? ");
  CHECK(shown("curl -o $UNKNOWN https://h/y") == "https://h/y>? ");
  CHECK(shown("curl --version") == "none");
  CHECK(read_download(command_of("curl -f https://h"))->fails_on_error);
  CHECK(!read_download(command_of("curl https://h"))->fails_on_error);
  CHECK(read_download(command_of("curl -d x https://h"))->data_sent);
}

TEST_CASE("files", "[commands_files]") {
  const FileCommand link = file_of("cd /w && ln -sf ../bin/python3 python");
  CHECK(link.action == FileCommand::Action::link);
  CHECK(link.symbolic);
  CHECK(link.force);
  CHECK(joined(link.sources) == "../bin/python3");
  CHECK(link.destination->text == "/w/python");
  CHECK(file_of("ln -s /a/b").destination_is_folder);
  const FileCommand copy = file_of("cd /w && cp -a x ./y /z/");
  CHECK(copy.recursive);
  CHECK(joined(copy.sources) == "/w/x /w/y");
  CHECK(copy.destination->text == "/z");
  CHECK(copy.destination_is_folder);
  CHECK(file_of("cp -t /d a b").destination->text == "/d");
  CHECK(!file_of("cp a $UNKNOWN").destination);
  CHECK(joined(file_of("rm -rf /opt/apache /var/lib/apt/lists/*").paths) == "/opt/apache /var/lib/apt/lists/*");
  CHECK(file_of("rm -rf /x/*").globs);
  CHECK(!file_of("rm $UNKNOWN").not_known.empty());
  CHECK(joined(file_of("cd /w && mkdir -p a/b ../c").paths) == "/w/a/b /c");
  CHECK(file_of("chmod -R u+x /a").mode == "u+x");
  CHECK(file_of("chmod -x /a").mode == "-x");
  CHECK(joined(file_of("chmod -x /a").paths) == "/a");
  CHECK(file_of("chown -R 1099:1099 /a /b").owner == "1099:1099");
  CHECK(joined(file_of("chown -R 1099:1099 /a /b").paths) == "/a /b");
  CHECK(file_of("install -d -m 755 /a").action == FileCommand::Action::make_folder);
  CHECK(file_of("install -m 0755 a /b").destination->text == "/b");
  const FileCommand tar = file_of("tar xzf /t.tgz -C /opt --strip-components=1");
  CHECK(tar.action == FileCommand::Action::unpack);
  CHECK(joined(tar.sources) == "/t.tgz");
  CHECK(tar.destination->text == "/opt");
  CHECK(!read_file_command(command_of("tar -czf /t.tgz /opt")));
  CHECK(!read_file_command(command_of("ls /")));
}

TEST_CASE("what is written", "[commands_files]") {
  const auto shown = [](const std::string& text) {
    std::string all;
    for (const FileWrite& one : file_writes(step_of(text)))
      all += one.path.text + (one.append ? ">>" : ">") + one.text.value_or("?");
    return all;
  };
  CHECK(shown("echo a b > /x") == "/x>a b\n");
  CHECK(shown("echo -n a >> /x") == "/x>>a");
  CHECK(shown("printf '%s\\n' a b > /x") == "/x>a\nb\n");
  CHECK(shown("printf 'a\\n' | tee /x /y") == "/x>a\n/y>a\n");
  CHECK(shown("{ echo a; echo b; } > /x") == "/x>a\n/x>>b\n");
  CHECK(shown("ls > /x 2>/dev/null") == "/x>?");
  CHECK(shown("ls > $UNKNOWN") == ">?");
  CHECK(shown("cat <<'E' > /x\nhello $x\nE\n") == "/x>hello $x\n");
  CHECK(shown("bash -c 'echo a' > /x") == "/x>a\n");
  CHECK(shown("echo a 2>/x >/dev/null").empty());
}

TEST_CASE("accounts", "[commands_accounts]") {
  const AccountCommand user = account_of("useradd --uid=1099 --gid=1099 -d /home/spark -m -s /bin/bash spark");
  CHECK(user.action == AccountCommand::Action::add_user);
  CHECK(user.name.text == "spark");
  CHECK(user.uid == "1099");
  CHECK(user.group == "1099");
  CHECK(user.home == "/home/spark");
  CHECK(user.creates_home);
  CHECK(account_of("useradd -l -u 5 x").name.text == "x");
  CHECK(!account_of("useradd x").creates_home);
  const AccountCommand group = account_of("groupadd -r -g 1099 spark");
  CHECK(group.action == AccountCommand::Action::add_group);
  CHECK(group.gid == "1099");
  CHECK(group.system);
  const AccountCommand debian = account_of("adduser --disabled-password --gecos '' --uid 1099 --ingroup spark spark");
  CHECK(debian.uid == "1099");
  CHECK(debian.group == "spark");
  CHECK(debian.creates_home);
  const AccountCommand busybox = account_of("adduser -D -u 1099 -G spark -h /h spark");
  CHECK(busybox.uid == "1099");
  CHECK(busybox.group == "spark");
  CHECK(busybox.home == "/h");
  CHECK(account_of("addgroup -g 1099 spark").gid == "1099");
  CHECK(account_of("adduser a b").action == AccountCommand::Action::add_to_group);
  CHECK(account_of("usermod -aG video x").action == AccountCommand::Action::add_to_group);
  CHECK(account_of("usermod -u 1099 x").uid == "1099");
  CHECK(account_of("userdel -r x").action == AccountCommand::Action::delete_user);
  CHECK(!account_of("useradd -u $UNKNOWN x").not_known.empty());
}

TEST_CASE("alternatives", "[commands_alternatives]") {
  const auto made =
      read_alternatives(command_of("update-alternatives --install /usr/bin/python python /usr/bin/python3.11 10 "
                                   "--slave /usr/bin/pip pip /usr/bin/pip3"));
  REQUIRE(made);
  CHECK(made->action == AlternativesCommand::Action::install);
  CHECK(made->main.link.text == "/usr/bin/python");
  CHECK(made->main.name.text == "python");
  CHECK(made->main.path.text == "/usr/bin/python3.11");
  CHECK(made->priority == 10);
  REQUIRE(made->slaves.size() == 1);
  CHECK(made->slaves[0].path.text == "/usr/bin/pip3");
  const auto set = read_alternatives(command_of("update-alternatives --set python3 /usr/bin/python3.11"));
  CHECK(set->action == AlternativesCommand::Action::set);
  CHECK(set->main.path.text == "/usr/bin/python3.11");
  CHECK(!read_alternatives(command_of("update-alternatives --set python3 $UNKNOWN"))->not_known.empty());
}

TEST_CASE("Python", "[commands_python]") {
  using Action = PythonCommand::Action;
  const PythonCommand venv = python_of("cd /w && python3.11 -m venv --system-site-packages --without-pip v");
  CHECK(venv.action == Action::environment);
  CHECK(venv.folder == "/w/v");
  CHECK(venv.python == "python3.11");
  CHECK(venv.system_site_packages);
  CHECK(venv.without_pip);
  CHECK(!python_of("python -m venv /v").without_pip);
  CHECK(python_of("virtualenv -p python3.9 /v").python == "python3.9");
  const PythonCommand uv = python_of("cd /w && uv venv --python 3.12 --seed");
  CHECK(uv.folder == "/w/.venv");
  CHECK(uv.python == "3.12");
  CHECK(!uv.without_pip);
  CHECK(python_of("uv venv /v").without_pip);
  CHECK(python_of("python -m ensurepip --upgrade").action == Action::ensurepip);
  CHECK(python_of("python3.8 /tmp/get-pip.py --break-system-packages").action == Action::get_pip);
  CHECK(python_of("python3.8 /tmp/get-pip.py --break-system-packages").break_system_packages);
  CHECK(!python_of("python3.8 /tmp/get-pip.py").break_system_packages);
  CHECK(python_of("curl https://h/get-pip.py | python3").action == Action::standard_input);
  CHECK(python_of("python -Ec 'import x' a").what.text == "import x");
  CHECK(joined(python_of("python -c 'x' a b").arguments) == "a b");
  CHECK(python_of("python --version").action == Action::version);
  CHECK(python_of("python -X utf8 app.py -V").what.text == "app.py");
  CHECK(python_of("python -m build").action == Action::module);
  CHECK(python_of("uv python install 3.11 3.12").versions == std::vector<std::string>{"3.11", "3.12"});
  CHECK(!python_of("python $UNKNOWN").not_known.empty());
  CHECK(!read_python(command_of("python -m pip install x")));
  CHECK(!read_python(command_of("pythonish x")));
  CHECK(minor_of_program("/usr/bin/python3.11")->to_string() == "3.11");
  CHECK(!minor_of_program("python3"));
}

TEST_CASE("checks of the interpreter", "[commands_python]") {
  const auto asserted = [](const std::string& code) -> std::string {
    const auto minor = asserted_minor(python_of("python -c \"" + code + "\""));
    return minor ? minor->to_string() : "";
  };
  CHECK(asserted("import sys; assert sys.version_info[:2] == (3, 11)") == "3.11");
  CHECK(asserted("import sys; assert sys.version_info[:2] >= (3, 11)").empty());
  CHECK(asserted("import sys; assert sys.version_info.minor == 9") == "3.9");
  CHECK(asserted("import sys; sys.exit(sys.version_info[:2] != (3, 12))") == "3.12");
  CHECK(asserted("import sys; sys.exit(sys.version_info[:2] == (3, 12))").empty());
  CHECK(asserted("import sys; print(sys.version_info[:2] == (3, 12))").empty());
  const auto written = [](const std::string& code) {
    return asserted_minor(python_of("python -c '" + code + "'")).has_value();
  };
  CHECK(written(R"(import sys; v = "%d.%d" % sys.version_info[:2]; sys.exit(0 if v == "3.11" else "no"))"));
  CHECK(!written(R"(import sys; v = "%d.%d" % sys.version_info[:2]; sys.exit(0 if w == "3.11" else "no"))"));
  CHECK(!written(R"(import sys; v = "%d.%d" % sys.version_info[:2]; sys.exit(1 if v == "3.11" else 0))"));
}
