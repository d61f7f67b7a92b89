import ArgumentParser
import Foundation
import PushGateway
import PushStore

struct Team: ParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Teams: who sends.", subcommands: [Add.self, List.self, Suspend.self, Resume.self])

    struct Add: AskingCommand {
        static let configuration = CommandConfiguration(abstract: "Makes a team known.")
        @OptionGroup var asking: AskingOptions
        @Argument(help: "Ten letters and digits: what the provider's tokens name as issuer.") var id: String
        @Argument(help: "A name for people.") var name: String
        var request: AdministrationRequest { .addTeam(id: id, name: name) }
    }

    struct List: AskingCommand {
        static let configuration = CommandConfiguration(abstract: "Lists the teams.")
        @OptionGroup var asking: AskingOptions
        var request: AdministrationRequest { .teams }
    }

    struct Suspend: AskingCommand {
        static let configuration = CommandConfiguration(abstract: "Refuses what the team sends (403 Forbidden).")
        @OptionGroup var asking: AskingOptions
        @Argument var id: String
        var request: AdministrationRequest { .suspendTeam(id: id, isSuspended: true) }
    }

    struct Resume: AskingCommand {
        static let configuration = CommandConfiguration(abstract: "Lets a suspended team send again.")
        @OptionGroup var asking: AskingOptions
        @Argument var id: String
        var request: AdministrationRequest { .suspendTeam(id: id, isSuspended: false) }
    }
}

struct Key: ParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Keys: with which teams sign their tokens.", subcommands: [Add.self, List.self, Revoke.self])

    struct Add: AskingCommand {
        static let configuration = CommandConfiguration(abstract: "Makes a key known. Only its public part is kept.")
        @OptionGroup var asking: AskingOptions
        @Argument(help: "Ten letters and digits: what the provider's tokens name as key.") var id: String
        @Argument(help: "The P-256 key in PEM, public or private (.p8).") var file: String
        @Option(help: "Whose key it is.") var team: String
        @Option(help: "Where it is good: any, production or development.") var environment = KeyRecord.Environment.any

        var request: AdministrationRequest {
            get throws {
                let pem = try String(contentsOfFile: file, encoding: .utf8)
                return .addKey(id: id, team: team, environment: environment.rawValue, pem: pem)
            }
        }
    }

    struct List: AskingCommand {
        static let configuration = CommandConfiguration(abstract: "Lists the keys.")
        @OptionGroup var asking: AskingOptions
        var request: AdministrationRequest { .keys }
    }

    struct Revoke: AskingCommand {
        static let configuration = CommandConfiguration(abstract: "Takes a key's right away, at once.")
        @OptionGroup var asking: AskingOptions
        @Argument var id: String
        var request: AdministrationRequest { .revokeKey(id: id) }
    }
}

struct Topic: ParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Topics: the apps that are sent to.", subcommands: [Add.self, List.self])

    struct Add: AskingCommand {
        static let configuration = CommandConfiguration(abstract: "Makes a topic known, and whose it is.")
        @OptionGroup var asking: AskingOptions
        @Argument(help: "The app's id, such as org.example.Mail.") var name: String
        @Option(help: "Who may send to it.") var team: String
        var request: AdministrationRequest { .addTopic(name: name, team: team) }
    }

    struct List: AskingCommand {
        static let configuration = CommandConfiguration(abstract: "Lists the topics.")
        @OptionGroup var asking: AskingOptions
        var request: AdministrationRequest { .topics }
    }
}
