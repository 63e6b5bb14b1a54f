package isolde.replay;

import java.lang.reflect.Field;
import java.lang.reflect.Method;
import java.lang.reflect.Modifier;
import java.lang.reflect.Parameter;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.function.Predicate;

/** The method that is a transaction. */
final class Entry {
    final Method method;
    private final Maker maker;
    private final Map<String, Object> values;

    /**
     * By `method`, `Class.method`, or the name of a class with `run`, and by the names of its arguments.
     * Where several classes have such a method, it is that of the class that the source file is named
     * after.
     */
    Entry(Maker maker, String name, String file, Map<String, Object> values) {
        this.maker = maker;
        this.values = values;
        int dot = name.lastIndexOf('.');
        String wantedClass = dot < 0 ? null : name.substring(0, dot);
        String wantedMethod = name.substring(dot + 1);
        List<Method> found = new ArrayList<>();
        for (Class<?> type : maker.classes()) {
            for (Method one : methods(type)) {
                boolean byClass = type.getSimpleName().equals(name) && one.getName().equals("run");
                boolean byName = one.getName().equals(wantedMethod)
                        && (wantedClass == null || type.getSimpleName().equals(wantedClass));
                boolean runs = !one.isSynthetic() && !Modifier.isAbstract(one.getModifiers());
                if ((byClass || byName) && runs && takes(one)) {
                    found.add(one);
                }
            }
        }
        keep(found, one -> isOf(file, one.getDeclaringClass().getName().replace('.', '/')));
        keep(found, one -> isOf(file, one.getDeclaringClass().getSimpleName()));
        if (found.size() != 1) {
            throw new IllegalArgumentException(found.size() + " methods are called " + name
                    + " and take " + String.join(", ", values.keySet()));
        }
        method = found.get(0);
        method.setAccessible(true);
    }

    /** What a class declares; nothing where something it needs is missing. */
    private static Method[] methods(Class<?> type) {
        try {
            return type.getDeclaredMethods();
        } catch (LinkageError missing) {
            return new Method[0];
        }
    }

    /** Whether a method has a parameter for every argument, and an argument for every plain parameter. */
    private boolean takes(Method one) {
        List<String> names = new ArrayList<>();
        boolean complete = true;
        for (Parameter parameter : one.getParameters()) {
            Class<?> type = parameter.getType();
            names.add(parameter.getName());
            complete &= values.containsKey(parameter.getName()) || Maker.isConnected(type)
                    || !Values.can(type);
        }
        return complete && names.containsAll(values.keySet());
    }

    /** Keeps the methods that are so, if any is. */
    private static void keep(List<Method> found, Predicate<Method> wanted) {
        if (found.stream().anyMatch(wanted)) {
            found.removeIf(wanted.negate());
        }
    }

    /** Whether a source file is that of a class, given as a path. */
    private static boolean isOf(String file, String type) {
        return ('/' + file.replace('\\', '/')).endsWith('/' + type + ".java");
    }

    Object[] arguments() throws Exception {
        Parameter[] parameters = method.getParameters();
        Object[] given = new Object[parameters.length];
        for (int at = 0; at < parameters.length; at++) {
            Class<?> type = parameters[at].getType();
            String name = parameters[at].getName();
            if (Maker.isConnected(type)) {
                given[at] = Maker.connected(type);
            } else if (values.containsKey(name)) {
                given[at] = Values.as(values.get(name), parameters[at].getParameterizedType());
            } else {
                given[at] = maker.other(type);
            }
        }
        return given;
    }

    /** An object for the method. */
    Object target() throws Exception {
        Class<?> owner = method.getDeclaringClass();
        Object target = null;
        if (!Modifier.isStatic(method.getModifiers())) {
            target = maker.make(owner);
        }
        fields(owner, target);
        initialize(target, owner);
        return target;
    }

    /** Puts the connection into fields for one. */
    private static void fields(Class<?> owner, Object target) throws Exception {
        for (Class<?> type = owner; type != null; type = type.getSuperclass()) {
            for (Field field : type.getDeclaredFields()) {
                boolean ours = Modifier.isStatic(field.getModifiers()) || target != null;
                boolean fixed = Modifier.isFinal(field.getModifiers());
                if (Maker.isConnected(field.getType()) && ours && !fixed) {
                    field.setAccessible(true);
                    field.set(target, Maker.connected(field.getType()));
                }
            }
        }
    }

    /** A procedure of BenchBase wants to know the database that it is on. */
    private static void initialize(Object target, Class<?> owner) throws Exception {
        for (Class<?> type = owner; type != null; type = type.getSuperclass()) {
            if (!type.getName().equals("com.oltpbenchmark.api.Procedure")) {
                continue;
            }
            String product = Connections.ROUTED.getMetaData().getDatabaseProductName();
            for (Method one : type.getDeclaredMethods()) {
                Class<?>[] types = one.getParameterTypes();
                if (one.getName().equals("initialize") && types.length == 1 && types[0].isEnum()) {
                    one.setAccessible(true);
                    for (Object constant : types[0].getEnumConstants()) {
                        if (product.toUpperCase().startsWith(((Enum<?>) constant).name())) {
                            one.invoke(target, constant);
                        }
                    }
                }
            }
        }
    }
}
