import GRDB
import NightshiftAPI

/// Why the store could not do what was asked. Nothing of what was asked has happened.
package struct StoreError: Error, Sendable, CustomStringConvertible {
    package let code: Code
    /// For a person: what is wrong and what to do.
    package let message: String

    package enum Code: Sendable {
        /// Written by a newer version of Nightshift.
        case newerVersion
        /// Not a database, or one whose pages are broken.
        case damaged
        /// It was here before and is gone.
        case missing
        /// No space on its file system.
        case diskFull
        /// The file system refuses: permissions, a read-only mount, an input or output error.
        case inputOutput
        /// A row breaks a rule of the schema: a fault in the caller.
        case constraint
        case closed
        /// One row makes no sense; the others are read.
        case unreadable
        case other
    }

    package init(_ code: Code, _ message: String) {
        self.code = code
        self.message = message
    }

    /// Whether trying again cannot help.
    package var isPermanent: Bool {
        switch code {
        case .newerVersion, .damaged, .missing, .constraint, .closed, .unreadable: true
        case .diskFull, .inputOutput, .other: false
        }
    }

    package var description: String { message }

    static func unreadable(_ id: TaskID, _ reason: String) -> StoreError {
        StoreError(
            .unreadable, "What is kept of task \(id) cannot be read: \(reason) 'nightshift remove \(id)' removes it.")
    }

    init(_ error: any Error, path: String? = nil) {
        let place = path.map { " at \($0)" } ?? ""
        guard let error = error as? DatabaseError else {
            self = (error as? StoreError) ?? StoreError(.other, "The database\(place) failed: \(error)")
            return
        }
        switch error.resultCode {
        case .SQLITE_CORRUPT, .SQLITE_NOTADB:
            self.init(
                .damaged,
                "The database\(place) is damaged (\(error.message ?? "no details")). Nothing was changed. Move it away or "
                    + "restore a copy, then start again; unfinished bytes stay in the folder 'partials' beside it.")
        case .SQLITE_FULL:
            self.init(.diskFull, "There is no space left for the database\(place).")
        case .SQLITE_IOERR, .SQLITE_CANTOPEN, .SQLITE_READONLY, .SQLITE_PERM, .SQLITE_AUTH:
            self.init(.inputOutput, "The database\(place) cannot be used: \(error.message ?? "input or output error").")
        case .SQLITE_BUSY, .SQLITE_LOCKED:
            self.init(.inputOutput, "The database\(place) is locked by another program.")
        case .SQLITE_CONSTRAINT:
            self.init(.constraint, "The database refused a row: \(error.message ?? "constraint").")
        default:
            self.init(.other, "The database\(place) failed: \(error.message ?? String(describing: error.resultCode)).")
        }
    }
}
