/// The part of a program's help that a manual page needs, as swift-argument-parser dumps it
/// (`--experimental-dump-help`).
struct ProgramHelp: Decodable {
    var command: Command

    struct Command: Decodable {
        var commandName: String
        var abstract: String?
        var discussion: String?
        var shouldDisplay: Bool?
        var subcommands: [Command]?
        var arguments: [Argument]?

        /// The subcommands except `help`. The parser adds that subcommand, and the manual page replaces it.
        var visibleSubcommands: [Command] {
            (subcommands ?? []).filter { ($0.shouldDisplay ?? true) && $0.commandName != "help" }
        }

        var visibleArguments: [Argument] { (arguments ?? []).filter(\.shouldDisplay) }
    }

    struct Argument: Decodable {
        var kind: Kind
        var shouldDisplay: Bool
        var sectionTitle: String?
        var isOptional: Bool
        var isRepeating: Bool
        var names: [Name]?
        var valueName: String?
        var defaultValue: String?
        var abstract: String?
        var discussion: String?

        enum Kind: String, Decodable {
            case positional
            case option
            case flag
        }

        struct Name: Decodable {
            var kind: Kind
            var name: String

            enum Kind: String, Decodable {
                case long
                case short
                case longWithSingleDash
            }
        }

        /// Whether every command has this option.
        var isCommon: Bool {
            (names ?? []).contains { $0.kind == .long && ["help", "version"].contains($0.name) }
        }
    }
}
