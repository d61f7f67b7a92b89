import GRDB
import NightshiftAPI

/// An error of the store. The requested operation had no effect.
package struct StoreError: Error, Sendable, CustomStringConvertible {
    package let code: Code
    /// A description of the error for display, which also says what to do.
    package let message: String

    package enum Code: Sendable {
        /// A database that was written by a newer version of Nightshift.
        case newerVersion
        /// A file that is not a database, or whose pages are damaged.
        case damaged
        /// A database that existed before and is missing now.
        case missing
        /// A file system without free space.
        case diskFull
        /// A file system that refuses access because of permissions, a read-only mount, or an input or output error.
        case inputOutput
        /// A row that violates a constraint of the schema, which is a bug of the caller.
        case constraint
        case closed
        /// A single unreadable row. Other rows can be read.
        case unreadable
        case other
    }

    package init(_ code: Code, _ message: String) {
        self.code = code
        self.message = message
    }

    /// Whether a retry would fail too.
    package var isPermanent: Bool {
        switch code {
        case .newerVersion, .damaged, .missing, .constraint, .closed, .unreadable: true
        case .diskFull, .inputOutput, .other: false
        }
    }

    package var description: String { message }

    static func unreadable(_ id: TaskID, _ reason: String) -> StoreError {
        StoreError(
            .unreadable,
            "The stored transfer \(id) cannot be read: \(reason) Run 'nightshift remove \(id)' to remove it.")
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
                    + "restore a copy, then start again. Partial files stay in the folder 'partials' next to it.")
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
