package isolde.replay;

import java.lang.reflect.InvocationHandler;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.lang.reflect.Proxy;
import java.sql.Connection;
import java.sql.Driver;
import java.sql.DriverManager;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import javax.sql.DataSource;

/** Connections whose statements wait for their turns. */
final class Connections {
    /**
     * The one connection that an application gets, however it asks for it: whoever uses it uses that of
     * the instance that runs in the thread. So pools, connections that are kept in static fields and
     * objects that are shared all do.
     */
    static final Connection ROUTED = (Connection) proxy(Connection.class, Connections::route);

    /** Gives the same to an application that asks a source for it. */
    static final DataSource SOURCE = (DataSource) proxy(DataSource.class, (self, method, arguments) -> {
        switch (method.getName()) {
            case "getConnection":
                return ROUTED;
            case "unwrap":
                return self;
            default:
                return ofObject(self, method, arguments);
        }
    });

    private static final List<Driver> real = new ArrayList<>();
    private static Driver ours;

    /** What DriverManager gives to an application that connects by itself is ours from here on. */
    static synchronized void replace() throws SQLException {
        if (ours == null) {
            for (Driver one : Collections.list(DriverManager.getDrivers())) {
                real.add(one);
                DriverManager.deregisterDriver(one);
            }
            ours = new StandIn();
            DriverManager.registerDriver(ours);
        }
    }

    /** Lets the real drivers be found, to connect. */
    static synchronized void release() throws SQLException {
        if (ours != null) {
            DriverManager.deregisterDriver(ours);
            for (Driver one : real) {
                DriverManager.registerDriver(one);
            }
            real.clear();
            ours = null;
        }
    }

    private static Object proxy(Class<?> type, InvocationHandler handler) {
        return Proxy.newProxyInstance(
                Connections.class.getClassLoader(), new Class<?>[] {type}, handler);
    }

    private static Object call(Object target, Method method, Object[] arguments) throws Throwable {
        try {
            return method.invoke(target, arguments);
        } catch (InvocationTargetException thrown) {
            throw thrown.getCause();
        }
    }

    /** What every object can be asked, and nothing of what else there is. */
    private static Object ofObject(Object self, Method method, Object[] arguments) {
        switch (method.getName()) {
            case "equals":
                return self == arguments[0];
            case "hashCode":
                return System.identityHashCode(self);
            case "toString":
                return "a connection that waits for its turns";
            default:
                return nothing(method.getReturnType());
        }
    }

    private static Object nothing(Class<?> type) {
        if (type == boolean.class) {
            return false;
        }
        return type == int.class ? (Object) 0 : type == long.class ? (Object) 0L : null;
    }

    private static Object route(Object self, Method method, Object[] arguments) throws Throwable {
        Client client = Client.ofThread();
        switch (method.getName()) {
            case "commit":
                if (client != null) {
                    client.commit();
                }
                return null;
            case "rollback":
                if (client != null && arguments != null && arguments.length > 0) {
                    return call(client.raw(), method, arguments);
                }
                if (client != null) {
                    client.rollback();
                }
                return null;
            case "getAutoCommit":
                return client == null || client.autoCommit;
            case "setAutoCommit":
                if (client != null) {
                    client.autoCommit = (Boolean) arguments[0];
                }
                return null;
            case "isValid":
                return true;
            // The replay decides about these.
            case "close":
            case "setTransactionIsolation":
            case "setReadOnly":
            case "setNetworkTimeout":
            case "getNetworkTimeout":
            case "abort":
            case "isClosed":
            case "isReadOnly":
            case "equals":
            case "hashCode":
            case "toString":
                return ofObject(self, method, arguments);
            case "createStatement":
            case "prepareStatement":
            case "prepareCall":
                if (client == null) {
                    throw new SQLException("a statement of a thread that no transaction runs in");
                }
                String prepared = method.getName().equals("createStatement")
                        ? null
                        : (String) arguments[0];
                return statement((Statement) call(client.raw(), method, arguments), prepared, client);
            default:
                // A pool asks from threads of its own, where nobody's transaction runs.
                return client == null
                        ? nothing(method.getReturnType())
                        : call(client.raw(), method, arguments);
        }
    }

    private static Object statement(Statement raw, String prepared, Client client) {
        Class<?> type = raw instanceof java.sql.CallableStatement
                ? java.sql.CallableStatement.class
                : prepared == null ? Statement.class : java.sql.PreparedStatement.class;
        List<String> batch = new ArrayList<>();
        InvocationHandler handler = (self, method, arguments) -> {
            String name = method.getName();
            if (name.equals("getConnection")) {
                return ROUTED;
            }
            boolean isText = arguments != null && arguments.length > 0
                    && arguments[0] instanceof String;
            if (name.equals("addBatch") && isText) {
                batch.add((String) arguments[0]);
            }
            Object result;
            if (name.startsWith("execute")) {
                String text = isText ? (String) arguments[0] : prepared;
                if (text == null) {
                    text = String.join("; ", batch);
                }
                result = client.turn("S", text, () -> call(raw, method, arguments));
                batch.clear();
                if (result instanceof Number || result instanceof Boolean) {
                    client.saw(name + " " + result);
                }
            } else {
                result = call(raw, method, arguments);
            }
            return result instanceof ResultSet
                    ? rows((ResultSet) result, (Statement) self, client)
                    : result;
        };
        return proxy(type, handler);
    }

    /** Reports what the application reads. */
    private static Object rows(ResultSet raw, Statement statement, Client client) {
        InvocationHandler handler = (self, method, arguments) -> {
            String name = method.getName();
            if (name.equals("getStatement")) {
                return statement;
            }
            Object result = call(raw, method, arguments);
            boolean reads = name.equals("next") || name.equals("wasNull")
                    || (name.startsWith("get") && arguments != null && arguments.length > 0);
            if (reads) {
                client.saw(name + " " + Values.shown(result));
            }
            return result;
        };
        return proxy(ResultSet.class, handler);
    }

    private Connections() {}
}
