import Foundation
import NightshiftAPI
import TestSupport
import Testing

@testable import CLI

/// Tests of the words that completion scripts request.
struct CompletionTests {
    private func service(_ world: World) throws -> ScriptedService {
        try world.service { request in
            switch request.path.prefix(while: { $0 != "?" }) {
            case "/v1/status": return try .json(Samples.status)
            case "/v1/apps": return try .json(AppList(apps: [AppSamples.active]))
            case "/v1/location": return try .json(LocationSamples.device)
            default:
                var odd = Samples.running(13)
                odd.url = "http://a/$(touch%20x):y"
                let isPaused = request.path.contains("state=suspended&")
                return try .json(
                    TaskPage(tasks: isPaused ? [Samples.running(11)] : [Samples.running(12), odd], next: nil))
            }
        }
    }

    @Test(arguments: [
        ("tasks bash -- nightshift cancel", "13\n12\n"), ("tasks bash -- nightshift resume", "11\n"),
        ("tasks bash -- nightshift pause 12 x", "13\n"),
        ("tasks fish -- nightshift show", "13\t$(touch x):y, running\n12\tfilm one.mkv, running\n"),
        ("tasks zsh -- nightshift show", "13:$(touch x):y, running\n12:film one.mkv, running\n"),
        ("apps bash -- nightshift app show", "org.example.Photos\n"),
        ("subjects bash -- nightshift why", "13\n12\norg.example.Photos\n"),
        ("regions bash -- nightshift region remove", "home\n"),
    ])
    func `Each shell gets completions in its own format`(_ line: String, _ printed: String) async throws {
        let world = try World()
        let service = try service(world)
        defer { service.stop() }
        var words = line.split(separator: " ").map(String.init)
        words.insert("--shell", at: 1)
        var invocation = world.invocation(["complete"] + words)
        invocation.completionTimeout = .seconds(600)
        #expect(await CommandLineProgram.run(invocation) == .whole)
        #expect(world.output.text.hasPrefix(printed) && world.errors.text.isEmpty, "\(world.output.text)")
    }

    @Test func `Completion neither prints anything nor starts the service while no service runs`() async throws {
        let world = try World()
        try world.installDaemon("touch \(world.path)/started")
        #expect(await world.run("complete", "tasks", "--", "nightshift", "show") == .whole)
        #expect(world.output.text.isEmpty && world.errors.text.isEmpty)
        #expect(!FileManager.default.fileExists(atPath: world.path + "/started"))
    }

    @Test func `Completion does not wait for a service that does not respond`() async throws {
        let world = try World()
        let isOver = Watched(false)
        let service = try world.service { request in
            guard request.path != "/v1/status" else { return try .json(Samples.status) }
            _ = isOver.block { $0 }
            return .hangUp
        }
        defer {
            isOver.update { $0 = true }
            service.stop()
        }
        var invocation = world.invocation(["complete", "tasks"])
        invocation.completionTimeout = .milliseconds(1)
        #expect(await CommandLineProgram.run(invocation) == .whole)
        #expect(world.output.text.isEmpty && world.errors.text.isEmpty)
    }

    @Test func `Completion does not offer a word with characters that the shell expands`() {
        let word = CompletionWord(word: "$(touch x)", about: "a")
        #expect(word.line(for: .bash) == nil)
        #expect(word.line(for: .zsh) == "$(touch x):a")
        #expect(CompletionWord(word: "a\u{1b}b", about: "").line(for: .fish) == nil)
        #expect(CompletionWord(word: #"a:b\c"#, about: "d").line(for: .zsh) == #"a\:b\\c:d"#)
    }

    // MARK: - Real shells

    /// Returns the words that a shell offers at the end of a line, with a script that replaces `nightshift`.
    private func offered(_ shell: String, _ world: World, driver: String) async throws -> [String] {
        let script = try World()
        #expect(await script.run("completions", shell) == .whole)
        try Data(script.output.text.utf8).write(to: world.root.appending(path: "script"))
        try Data(driver.utf8).write(to: world.root.appending(path: "driver"))
        try world.install(
            "nightshift",
            """
            [ "$1" = complete ] || exit 1
            case "$2" in tasks) ids='12 13' ;; subjects) ids='12 13 org.example.Photos' ;; *) ids=org.example.Photos ;; esac
            echo "$*" >>\(world.path)/asked
            for id in $ids; do
                case " $* " in
                    *' --shell zsh '*) echo "$id:about" ;;
                    *' --shell fish '*) printf '%s\\tabout\\n' "$id" ;;
                    *) echo "$id" ;;
                esac
            done
            """)
        let path = world.path + "/bin:" + (ProcessInfo.processInfo.environment["PATH"] ?? "/usr/bin:/bin")
        let result = try await ChildProcess.run(
            "env", ["-i", "HOME=\(world.path)", "PATH=\(path)", "TERM=dumb", shell, world.path + "/driver"])
        #expect(result.code == 0 && result.errors.isEmpty, "\(result)")
        return result.output.split(separator: "\n").map(String.init).sorted()
    }

    private static func isInstalled(_ shell: String) -> Bool {
        ["/bin/", "/usr/bin/"].contains { FileManager.default.isExecutableFile(atPath: $0 + shell) }
    }

    @Test(
        .enabled(if: isInstalled("bash"), "bash is not installed here"),
        arguments: [
            ("nightshift pause ''", ["12", "13"]), ("nightshift app show ''", ["org.example.Photos"]),
            ("nightshift why o", ["org.example.Photos"]), ("nightshift get --app ''", ["org.example.Photos"]),
            ("nightshift pause 12 ''", ["12", "13"]),
        ])
    func `bash completes ids and apps`(_ line: String, _ words: [String]) async throws {
        let world = try World()
        let driver = """
            source \(world.path)/script
            COMP_WORDS=(\(line))
            COMP_CWORD=$((${#COMP_WORDS[@]} - 1))
            COMP_LINE="${COMP_WORDS[*]}"
            COMP_POINT=${#COMP_LINE}
            _nightshift nightshift "${COMP_WORDS[COMP_CWORD]}" "${COMP_WORDS[COMP_CWORD-1]}"
            printf '%s\\n' "${COMPREPLY[@]}"
            """
        let found = try await offered("bash", world, driver: driver).filter { !$0.hasPrefix("-") }
        #expect(found == words, "\(world.text("asked"))")
    }

    @Test(
        .enabled(if: isInstalled("fish"), "fish is not installed here"),
        arguments: [
            ("nightshift pause ", ["12\tabout", "13\tabout"]), ("nightshift app show ", ["org.example.Photos\tabout"]),
            ("nightshift get --app ", ["org.example.Photos\tabout"]),
        ])
    func `fish completes ids and apps`(_ line: String, _ words: [String]) async throws {
        let world = try World()
        let driver = "source \(world.path)/script\ncomplete -C '\(line)'\n"
        let found = try await offered("fish", world, driver: driver).filter { !$0.hasPrefix("-") }
        #expect(found == words, "\(world.text("asked"))")
    }

    @Test(
        .enabled(if: isInstalled("zsh"), "zsh is not installed here"),
        arguments: [
            ("nightshift pause ", ["12", "13"]), ("nightshift app show ", ["org.example.Photos"]),
            ("nightshift get --app ", ["org.example.Photos"]),
        ])
    func `zsh completes ids and apps`(_ line: String, _ words: [String]) async throws {
        let world = try World()
        // zsh lists completions only on a terminal.
        let driver = """
            zmodload zsh/zpty
            zpty shell zsh -f -i
            zpty -w shell 'PROMPT=; autoload -Uz compinit; compinit -u -d \(world.path)/dump'
            zpty -w shell 'source \(world.path)/script'
            zpty -w shell '_describe() { shift $((OPTIND-1)); local a; for a in "$@"; do [[ $a = [A-Za-z_]* ]] && print -l -- "${(@P)a}" >>\(world.path)/found; done }'
            zpty -n -w shell '\(line)'
            # Until the words are offered; a shell that is slow to start may miss the first key.
            for i in {0..600}; do
                grep -q . \(world.path)/found && break
                (( i % 20 )) || zpty -n -w shell $'\\t'
                zpty -rt shell ignored; sleep 0.1
            done 2>/dev/null
            cat \(world.path)/found
            """
        let found = try await offered("zsh", world, driver: driver)
        #expect(Set(found.map { String($0.prefix { $0 != ":" }) }) == Set(words), "\(world.text("asked"))")
    }
}

extension World {
    /// Returns the text of a file, for messages.
    fileprivate func text(_ name: String) -> String {
        (try? String(contentsOf: root.appending(path: name), encoding: .utf8)) ?? "no \(name)"
    }
}
