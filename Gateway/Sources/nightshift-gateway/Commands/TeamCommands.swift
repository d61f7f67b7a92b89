import ArgumentParser
import Foundation
import PushGateway
import PushStore

struct Team: ParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Manages the teams that send pushes.", subcommands: [Add.self, List.self, Suspend.self, Resume.self])

    struct Add: AskingCommand {
        static let configuration = CommandConfiguration(abstract: "Adds a team.")
        @OptionGroup var asking: AskingOptions
        @Argument(help: "The team's id of ten letters and digits, which the provider's tokens name as issuer.") var id:
            String
        @Argument(help: "The name to display.") var name: String
        var request: AdministrationRequest { .addTeam(id: id, name: name) }
    }

    struct List: AskingCommand {
        static let configuration = CommandConfiguration(abstract: "Lists the teams.")
        @OptionGroup var asking: AskingOptions
        var request: AdministrationRequest { .teams }
    }

    struct Suspend: AskingCommand {
        static let configuration = CommandConfiguration(abstract: "Refuses the team's pushes (403 Forbidden).")
        @OptionGroup var asking: AskingOptions
        @Argument var id: String
        var request: AdministrationRequest { .suspendTeam(id: id, isSuspended: true) }
    }

    struct Resume: AskingCommand {
        static let configuration = CommandConfiguration(abstract: "Allows a suspended team to send again.")
        @OptionGroup var asking: AskingOptions
        @Argument var id: String
        var request: AdministrationRequest { .suspendTeam(id: id, isSuspended: false) }
    }
}

struct Key: ParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Manages the keys with which teams sign their tokens.",
        subcommands: [Add.self, List.self, Revoke.self])

    struct Add: AskingCommand {
        static let configuration = CommandConfiguration(abstract: "Adds a key. Only its public part is stored.")
        @OptionGroup var asking: AskingOptions
        @Argument(help: "The key's id of ten letters and digits, which the provider's tokens name as key.") var id:
            String
        @Argument(help: "The file of the P-256 key in PEM format, public or private (.p8).") var file: String
        @Option(help: "The team to which the key belongs.") var team: String
        @Option(help: "The environment for which the key is valid: any, production or development.") var environment =
            KeyRecord.Environment.any

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
        static let configuration = CommandConfiguration(abstract: "Revokes a key at once.")
        @OptionGroup var asking: AskingOptions
        @Argument var id: String
        var request: AdministrationRequest { .revokeKey(id: id) }
    }
}

struct Topic: ParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Manages topics, which are apps that receive pushes.", subcommands: [Add.self, List.self])

    struct Add: AskingCommand {
        static let configuration = CommandConfiguration(abstract: "Adds a topic for a team.")
        @OptionGroup var asking: AskingOptions
        @Argument(help: "The app's id, such as org.example.Mail.") var name: String
        @Option(help: "The team that may send to the topic.") var team: String
        var request: AdministrationRequest { .addTopic(name: name, team: team) }
    }

    struct List: AskingCommand {
        static let configuration = CommandConfiguration(abstract: "Lists the topics.")
        @OptionGroup var asking: AskingOptions
        var request: AdministrationRequest { .topics }
    }
}
