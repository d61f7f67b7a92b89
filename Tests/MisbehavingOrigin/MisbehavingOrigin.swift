import ArgumentParser

/// The tests' origin as a program, for the demo, for benchmarks and for use by hand.
@main
struct MisbehavingOrigin: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "misbehaving-origin",
        abstract: "Serves a file on loopback, as badly as asked.",
        subcommands: [Serve.self, Verify.self, Proxy.self],
        defaultSubcommand: Serve.self)
}
