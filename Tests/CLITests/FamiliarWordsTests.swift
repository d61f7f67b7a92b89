import Testing

@testable import CLI

/// Hints for commands and options of curl, wget, aria2, systemctl and docker.
struct FamiliarWordsTests {
    @Test(arguments: [
        ("rm 12", "'nightshift remove ID'"), ("log", "'nightshift journal'"), ("logs", "'nightshift app log ID'"),
        ("stop", "'nightshift service stop'"), ("stop 12", "'nightshift pause ID'"), ("add x", "'nightshift get URL'"),
        ("info 12", "'nightshift show ID'"), ("inspect 12", "'nightshift show ID'"), ("ps", "'nightshift list'"),
        ("get -O http://a/1", "-o FILE"), ("get -c http://a/1", "run the same command again"),
        ("get -L http://a/1", "redirects are followed"), ("get -LO http://a/1", "redirects are followed"),
        ("get -x 16 http://a/1", "--connections"), ("get --insecure http://a/1", "--cacert"),
        ("-O http://a/1", "-o FILE"), ("put -T f http://a/1", "nightshift put FILE URL"),
    ])
    func `The hint for another tool's word names the equivalent command or option`(_ line: String, _ hint: String)
        async throws
    {
        let world = try World()
        #expect(await CommandLineProgram.run(world.invocation(line.split(separator: " ").map(String.init))) == .usage)
        #expect(world.errors.text.contains(hint), "\(world.errors.text)")
        #expect(world.errors.text.hasPrefix("nightshift: "))
    }

    @Test(arguments: ["app rm x", "service logs"])
    func `Subcommands give no hints for words of other tools`(_ line: String) async throws {
        let world = try World()
        #expect(await CommandLineProgram.run(world.invocation(line.split(separator: " ").map(String.init))) == .usage)
        #expect(world.errors.text.contains("--help' lists the commands"), "\(world.errors.text)")
    }

    @Test(arguments: [
        ("get", "nightshift: Give URLs, -i FILE or --continue ID.\nUsage: nightshift get "),
        ("get -o http://a/1", "nightshift: -o took 'http://a/1' as its value. Give a file name: -o FILE"),
        ("get -d http://a/1", "nightshift: -d took 'http://a/1' as its value. Give a directory: -d DIRECTORY"),
        (
            "get --user http://u:secret@a/1",
            "nightshift: --user took 'http://a/1' as its value. Give a user name: --user"
        ),
        ("get --user https://a/1", "nightshift: --user took 'https://a/1' as its value. Give a user name: --user NAME"),
        ("put -o http://a/1 f", "nightshift: -o took 'http://a/1' as its value. Give a file name: -o FILE"),
        ("app show", "nightshift: Missing expected argument '<id>'.\nUsage: nightshift app show <id> [--json]\nSee "),
        ("list --state lost", "nightshift: The value 'lost' is invalid for '--state <state>'."),
    ])
    func `All errors about arguments have the same form`(_ line: String, _ message: String) async throws {
        let world = try World()
        #expect(await CommandLineProgram.run(world.invocation(line.split(separator: " ").map(String.init))) == .usage)
        #expect(world.errors.text.hasPrefix(message), "\(world.errors.text)")
    }
}
